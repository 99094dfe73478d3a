/* SPDX-License-Identifier: Apache-2.0 */
/* 42_mma_bf16 - bfloat16 product with mma in inline PTX */
#include <cstdint>
#include <cuda_bf16.h>

#define BM 64
#define BN 64
#define BK 32
#define LDS (BK + 8)

__device__ __forceinline__ void mma_bf16_16816(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ uint32_t pair(const __nv_bfloat16 *p) { return *reinterpret_cast<const uint32_t *>(p); }

// rung: grid=N/BN,M/BM block=128
// C[M][N] = A[M][K] * B[N][K]^T, float result
__global__ void __launch_bounds__(128) gemm_bf16_tn(const __nv_bfloat16 *__restrict__ A, const __nv_bfloat16 *__restrict__ B,
                                                    float *__restrict__ C, int M, int N, int K)
{
    __shared__ __align__(16) __nv_bfloat16 sa[BM][LDS];
    __shared__ __align__(16) __nv_bfloat16 sb[BN][LDS];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int group = lane / 4, quad = lane % 4;
    const int wr = (warp / 2) * 32, wc = (warp % 2) * 32;

    float acc[2][4][4] = {};

    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int v = threadIdx.x; v < BM * BK / 8; v += 128) {
            const int r = v / 4, c = v % 4 * 8;
            *(uint4 *)&sa[r][c] = *(const uint4 *)&A[(size_t)(blockIdx.y * BM + r) * K + k0 + c];
            *(uint4 *)&sb[r][c] = *(const uint4 *)&B[(size_t)(blockIdx.x * BN + r) * K + k0 + c];
        }
        __syncthreads();

#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            uint32_t a[2][4], b[4][2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int r = wr + i * 16 + group;
                a[i][0] = pair(&sa[r][kk + quad * 2]);
                a[i][1] = pair(&sa[r + 8][kk + quad * 2]);
                a[i][2] = pair(&sa[r][kk + quad * 2 + 8]);
                a[i][3] = pair(&sa[r + 8][kk + quad * 2 + 8]);
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                b[j][0] = pair(&sb[wc + j * 8 + group][kk + quad * 2]);
                b[j][1] = pair(&sb[wc + j * 8 + group][kk + quad * 2 + 8]);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) mma_bf16_16816(acc[i][j], a[i], b[j]);
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int r = blockIdx.y * BM + wr + i * 16 + group;
            const int c = blockIdx.x * BN + wc + j * 8 + quad * 2;
            *(float2 *)&C[(size_t)r * N + c] = make_float2(acc[i][j][0], acc[i][j][1]);
            *(float2 *)&C[(size_t)(r + 8) * N + c] = make_float2(acc[i][j][2], acc[i][j][3]);
        }
}
