/* SPDX-License-Identifier: Apache-2.0 */
/* 34_int8_dp4a_tiled - 8-bit integer tiled product that packs columns for dp4a */
#include <stdint.h>

#define BM 32
#define BN 32
#define BK 32

// A is M x K and B is K x N, both row-major and signed 8-bit; C is 32-bit.
// rung: grid=N/BN,M/BM block=16,16
__global__ void igemm_tiled(const signed char *A, const signed char *B, int *C, int M, int N, int K)
{
    __shared__ int As[BM][BK / 4 + 1];
    __shared__ int Bs[BK / 4][BN]; // four values of k per word

    const int tid = threadIdx.y * 16 + threadIdx.x;
    int acc[2][2] = {{0, 0}, {0, 0}};

    for (int k0 = 0; k0 < K; k0 += BK) {
        {
            const int r = tid / 8, w = tid % 8;
            As[r][w] = *reinterpret_cast<const int *>(A + (blockIdx.y * BM + r) * K + k0 + 4 * w);
        }
        {
            const int w = tid / 32, c = tid % 32;
            const signed char *p = B + (k0 + 4 * w) * N + blockIdx.x * BN + c;
            char4 v = make_char4(p[0], p[N], p[2 * N], p[3 * N]);
            Bs[w][c] = (v.x & 0xff) | (v.y & 0xff) << 8 | (v.z & 0xff) << 16 | (v.w & 0xff) << 24;
        }
        __syncthreads();

#pragma unroll
        for (int w = 0; w < BK / 4; ++w)
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    acc[i][j] = __dp4a(As[threadIdx.y + 16 * i][w], Bs[w][threadIdx.x + 16 * j], acc[i][j]);
        __syncthreads();
    }

    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            C[(blockIdx.y * BM + threadIdx.y + 16 * i) * N + blockIdx.x * BN + threadIdx.x + 16 * j] = acc[i][j];
}
