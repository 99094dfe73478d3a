/* SPDX-License-Identifier: Apache-2.0 */
/* 14_colmajor_tiled - column-major tiled GEMM with an index macro */
#include <cuda_runtime.h>

#define IDX2C(i, j, ld) (((j) * (ld)) + (i))
#define TS 16

__global__ void gemm_colmajor_shared(const int M, const int N, const int K, const float alpha, const float *dA,
                                     const int lda, const float *dB, const int ldb, const float beta, float *dC,
                                     const int ldc)
{
    __shared__ float Asub[TS][TS + 1];
    __shared__ float Bsub[TS][TS + 1];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int i = TS * blockIdx.x + tx;
    const int j = TS * blockIdx.y + ty;

    float acc = 0.0f;
    for (int t = 0; t < K; t += TS) {
        Asub[ty][tx] = (i < M && t + ty < K) ? dA[IDX2C(i, t + ty, lda)] : 0.0f;
        Bsub[ty][tx] = (t + tx < K && j < N) ? dB[IDX2C(t + tx, j, ldb)] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TS; k++)
            acc += Asub[k][tx] * Bsub[ty][k];
        __syncthreads();
    }

    if (i < M && j < N) {
        if (beta == 0.0f)
            dC[IDX2C(i, j, ldc)] = alpha * acc;
        else
            dC[IDX2C(i, j, ldc)] = alpha * acc + beta * dC[IDX2C(i, j, ldc)];
    }
}

void my_sgemm(int M, int N, int K, float alpha, const float *dA, int lda, const float *dB, int ldb, float beta,
              float *dC, int ldc, cudaStream_t stream)
{
    dim3 block(TS, TS);
    dim3 grid((M + TS - 1) / TS, (N + TS - 1) / TS);
    gemm_colmajor_shared<<<grid, block, 0, stream>>>(M, N, K, alpha, dA, lda, dB, ldb, beta, dC, ldc);
}
