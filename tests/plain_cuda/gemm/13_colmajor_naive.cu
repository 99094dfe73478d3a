/* SPDX-License-Identifier: Apache-2.0 */
/* 13_colmajor_naive - column-major GEMM with leading dimensions */
// BLAS storage: element (i, j) of a matrix with leading dimension ld is at i + j * ld.
// rung: grid=(m+15)/16,(n+15)/16 block=16,16
__global__ void sgemm_nn(int m, int n, int k, float alpha, const float *A, int lda, const float *B, int ldb,
                         float beta, float *C, int ldc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;

    float sum = 0.0f;
    for (int l = 0; l < k; l++)
        sum += A[i + l * lda] * B[l + j * ldb];

    C[i + j * ldc] = alpha * sum + beta * C[i + j * ldc];
}
