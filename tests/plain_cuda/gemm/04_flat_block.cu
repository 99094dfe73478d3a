/* SPDX-License-Identifier: Apache-2.0 */
/* 04_flat_block - GEMM with one-dimensional blocks and a template for the tile edge */
#include <cassert>
#include <cstdlib>

#include <cuda_runtime.h>

template <const uint BLOCKSIZE>
__global__ void sgemm_global_mem_coalesced(int M, int N, int K, float alpha, const float *A, const float *B,
                                           float beta, float *C)
{
    const int cRow = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
    const int cCol = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);

    if (cRow < M && cCol < N) {
        float dot = 0.0f;
        for (int k = 0; k < K; ++k)
            dot += A[cRow * K + k] * B[k * N + cCol];
        C[cRow * N + cCol] = alpha * dot + beta * C[cRow * N + cCol];
    }
}

static inline unsigned ceilDiv(unsigned num, unsigned den) { return (num + den - 1) / den; }

void runSgemmCoalesced(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    dim3 gridDim(ceilDiv(M, 32), ceilDiv(N, 32));
    dim3 blockDim(32 * 32);
    sgemm_global_mem_coalesced<32><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}
