/* SPDX-License-Identifier: Apache-2.0 */
/* 20_float4_offsets - GEMM with 128-bit loads and offset macros */
#include <cuda_runtime.h>

#define OFFSET(row, col, ld) ((row) * (ld) + (col))
#define FLOAT4(value) (*reinterpret_cast<float4 *>(&(value)))
#define CFLOAT4(value) (*reinterpret_cast<const float4 *>(&(value)))

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void sgemm_vectorized(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                 const int M, const int N, const int K)
{
    const int bx = blockIdx.x, by = blockIdx.y;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int tid = tx + ty * (BN / TN);

    __shared__ float tile_a[BK][BM]; // transposed
    __shared__ float tile_b[BK][BN];

    float sums[TM][TN] = {0.0};
    float reg_a[TM];
    float reg_b[TN];

    const int load_a_m = tid >> 1;
    const int load_a_k = (tid & 1) << 2;
    const int load_b_k = tid >> 5;
    const int load_b_n = (tid & 31) << 2;

    for (int bk = 0; bk < K / BK; bk++) {
        float4 va = CFLOAT4(a[OFFSET(by * BM + load_a_m, bk * BK + load_a_k, K)]);
        tile_a[load_a_k + 0][load_a_m] = va.x;
        tile_a[load_a_k + 1][load_a_m] = va.y;
        tile_a[load_a_k + 2][load_a_m] = va.z;
        tile_a[load_a_k + 3][load_a_m] = va.w;
        FLOAT4(tile_b[load_b_k][load_b_n]) = CFLOAT4(b[OFFSET(bk * BK + load_b_k, bx * BN + load_b_n, N)]);
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BK; k++) {
#pragma unroll
            for (int m = 0; m < TM; m += 4)
                FLOAT4(reg_a[m]) = FLOAT4(tile_a[k][ty * TM + m]);
#pragma unroll
            for (int n = 0; n < TN; n += 4)
                FLOAT4(reg_b[n]) = FLOAT4(tile_b[k][tx * TN + n]);
#pragma unroll
            for (int m = 0; m < TM; m++)
#pragma unroll
                for (int n = 0; n < TN; n++)
                    sums[m][n] += reg_a[m] * reg_b[n];
        }
        __syncthreads();
    }

#pragma unroll
    for (int m = 0; m < TM; m++) {
#pragma unroll
        for (int n = 0; n < TN; n += 4)
            FLOAT4(c[OFFSET(by * BM + ty * TM + m, bx * BN + tx * TN + n, N)]) = FLOAT4(sums[m][n]);
    }
}

void launch_sgemm_vectorized(const float *a, const float *b, float *c, int M, int N, int K)
{
    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    dim3 blockDim(BN / TN, BM / TM);
    dim3 gridDim((N + BN - 1) / BN, (M + BM - 1) / BM);
    sgemm_vectorized<BM, BN, BK, TM, TN><<<gridDim, blockDim>>>(a, b, c, M, N, K);
}
