/* SPDX-License-Identifier: Apache-2.0 */
/* 52_strided_batched - strided batched GEMM with scalars */
#include <cuda_runtime.h>

#define BLK 16

__global__ void sgemm_strided_batched(int m, int n, int k, float alpha, const float *A, int lda, long long strideA,
                                      const float *B, int ldb, long long strideB, float beta, float *C, int ldc,
                                      long long strideC)
{
    __shared__ float sA[BLK][BLK + 1];
    __shared__ float sB[BLK][BLK + 1];
    A += blockIdx.z * strideA;
    B += blockIdx.z * strideB;
    C += blockIdx.z * strideC;

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.x * BLK + tx; // column-major: x runs down a column
    const int col = blockIdx.y * BLK + ty;
    float acc = 0.f;
    for (int p0 = 0; p0 < k; p0 += BLK) {
        sA[ty][tx] = row < m && p0 + ty < k ? A[row + (p0 + ty) * lda] : 0.f;
        sB[ty][tx] = p0 + tx < k && col < n ? B[p0 + tx + col * ldb] : 0.f;
        __syncthreads();
#pragma unroll
        for (int p = 0; p < BLK; ++p) acc += sA[p][tx] * sB[ty][p];
        __syncthreads();
    }
    if (row < m && col < n) C[row + col * ldc] = alpha * acc + beta * C[row + col * ldc];
}

int gemm_strided_batched(int m, int n, int k, float alpha, const float *A, int lda, long long strideA, const float *B,
                         int ldb, long long strideB, float beta, float *C, int ldc, long long strideC, int batchCount)
{
    dim3 block(BLK, BLK);
    dim3 grid((m + BLK - 1) / BLK, (n + BLK - 1) / BLK, batchCount);
    sgemm_strided_batched<<<grid, block>>>(m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC);
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}
