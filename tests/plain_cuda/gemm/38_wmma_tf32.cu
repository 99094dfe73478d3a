/* SPDX-License-Identifier: Apache-2.0 */
/* 38_wmma_tf32 - TF32 tensor-core GEMM on float matrices */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

const int WM = 16, WN = 16, WK = 8;
const int WARPS = 4;

// D = alpha * A * B + beta * C
__global__ void tf32_gemm(const float *A, const float *B, const float *C, float *D, int m_global, int n_global,
                          int k_global, float alpha, float beta)
{
    const int warp = threadIdx.x / warpSize;
    const int row = blockIdx.y * WM;
    const int col = (blockIdx.x * WARPS + warp) * WN;
    if (col >= n_global) return;

    wmma::fragment<wmma::matrix_a, WM, WN, WK, wmma::precision::tf32, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, WM, WN, WK, wmma::precision::tf32, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, WM, WN, WK, float> acc, c;
    wmma::fill_fragment(acc, 0.0f);

    for (int k = 0; k < k_global; k += WK) {
        wmma::load_matrix_sync(a, A + row * k_global + k, k_global);
        wmma::load_matrix_sync(b, B + k * n_global + col, n_global);
#pragma unroll
        for (int t = 0; t < a.num_elements; t++) a.x[t] = wmma::__float_to_tf32(a.x[t]);
#pragma unroll
        for (int t = 0; t < b.num_elements; t++) b.x[t] = wmma::__float_to_tf32(b.x[t]);
        wmma::mma_sync(acc, a, b, acc);
    }

    wmma::load_matrix_sync(c, C + row * n_global + col, n_global, wmma::mem_row_major);
#pragma unroll
    for (int t = 0; t < c.num_elements; t++) c.x[t] = alpha * acc.x[t] + beta * c.x[t];
    wmma::store_matrix_sync(D + row * n_global + col, c, n_global, wmma::mem_row_major);
}

int main()
{
    const int m = 128, n = 192, k = 64;
    float *A, *B, *C, *D;
    cudaMallocManaged(&A, m * k * sizeof(float));
    cudaMallocManaged(&B, k * n * sizeof(float));
    cudaMallocManaged(&C, m * n * sizeof(float));
    cudaMallocManaged(&D, m * n * sizeof(float));
    for (int i = 0; i < m * k; i++) A[i] = rand() % 4;
    for (int i = 0; i < k * n; i++) B[i] = rand() % 4;
    for (int i = 0; i < m * n; i++) C[i] = rand() % 4;

    dim3 blockDim(WARPS * 32);
    dim3 gridDim((n + WARPS * WN - 1) / (WARPS * WN), m / WM);
    tf32_gemm<<<gridDim, blockDim>>>(A, B, C, D, m, n, k, 1.1f, 1.2f);
    cudaDeviceSynchronize();

    double worst = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int l = 0; l < k; l++) s += A[i * k + l] * B[l * n + j];
            worst = fmax(worst, fabs(1.1f * s + 1.2f * C[i * n + j] - D[i * n + j]));
        }
    printf("largest error %g\n", worst);
    cudaFree(A);
    cudaFree(B);
    cudaFree(C);
    cudaFree(D);
    return worst > 1e-2;
}
