/* SPDX-License-Identifier: Apache-2.0 */
/* 04_flat_block - GEMM with one-dimensional blocks and a template for the tile edge */
#include <cassert>
#include <cstdlib>

#include <cuda_runtime.h>

template <const uint BLOCKSIZE>
__global__ void sgemm_flat(int M, int N, int K, float alpha, const float *A, const float *B,
                                           float beta, float *C)
{
    const int row = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
    const int col = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);

    if (row < M && col < N) {
        float dot = 0.0f;
        for (int k = 0; k < K; ++k)
            dot += A[row * K + k] * B[k * N + col];
        C[row * N + col] = alpha * dot + beta * C[row * N + col];
    }
}

static inline unsigned ceilDiv(unsigned num, unsigned den) { return (num + den - 1) / den; }

void run_sgemm_flat(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    dim3 gridDim(ceilDiv(M, 32), ceilDiv(N, 32));
    dim3 blockDim(32 * 32);
    sgemm_flat<32><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}
