/* SPDX-License-Identifier: Apache-2.0 */
/* 27_int64_lda - row-major GEMM with 64-bit leading dimensions */
#include <cstdint>

// rung: grid=(N+31)/32,(M+3)/4 block=32,4
__global__ void gemm_i64(int64_t M, int64_t N, int64_t K, float alpha, const float *__restrict__ A, int64_t lda,
                         const float *__restrict__ B, int64_t ldb, float beta, float *__restrict__ C, int64_t ldc)
{
    const int64_t i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M || j >= N) return;

    // Four independent sums hide the latency of the additions.
    float s[4] = {0.f, 0.f, 0.f, 0.f};
    int64_t k = 0;
    for (; k + 4 <= K; k += 4) {
#pragma unroll
        for (int u = 0; u < 4; ++u) s[u] += A[i * lda + k + u] * B[(k + u) * ldb + j];
    }
    for (; k < K; ++k) s[0] += A[i * lda + k] * B[k * ldb + j];

    const float ab = (s[0] + s[1]) + (s[2] + s[3]);
    C[i * ldc + j] = alpha * ab + (beta == 0.f ? 0.f : beta * C[i * ldc + j]);
}
