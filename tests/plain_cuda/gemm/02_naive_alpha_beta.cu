/* SPDX-License-Identifier: Apache-2.0 */
/* 02_naive_alpha_beta - GEMM with scalars, one thread per element, with a launcher */
#include <cuda_runtime.h>

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

// C (M x N) = alpha * A (M x K) @ B (K x N) + beta * C
__global__ void sgemm_one_per_thread(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;

    if (y >= M || x >= N)
        return;

    float acc = 0.0;
    for (int k = 0; k < K; ++k)
        acc += A[y * K + k] * B[k * N + x];
    C[y * N + x] = alpha * acc + beta * C[y * N + x];
}

void run_sgemm_naive(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C)
{
    dim3 blockDim(32, 32);
    dim3 gridDim(CEIL_DIV(N, 32), CEIL_DIV(M, 32));
    sgemm_one_per_thread<<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}
