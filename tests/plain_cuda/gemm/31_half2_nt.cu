/* SPDX-License-Identifier: Apache-2.0 */
/* 31_half2_nt - half2 dot products with a transposed second operand */
#include <cuda_fp16.h>

// rung: grid=(N+15)/16,(M+15)/16 block=16,16
// A[M][K], B[N][K], C[M][N]. K is even, so that a row is an array of half2.
__global__ void hgemm_nt_half2(const half *__restrict__ A, const half *__restrict__ B, half *__restrict__ C, int M,
                               int N, int K)
{
    const int m = blockIdx.y * blockDim.y + threadIdx.y;
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= M || n >= N) return;

    const half2 *a2 = reinterpret_cast<const half2 *>(A + m * K);
    const half2 *b2 = reinterpret_cast<const half2 *>(B + n * K);
    half2 acc = __float2half2_rn(0.0f);
    for (int k = 0; k < K / 2; ++k)
        acc = __hfma2(a2[k], b2[k], acc);
    C[m * N + n] = __hadd(__low2half(acc), __high2half(acc));
}
