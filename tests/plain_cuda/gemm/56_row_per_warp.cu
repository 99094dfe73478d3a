/* SPDX-License-Identifier: Apache-2.0 */
/* 56_row_per_warp - skinny product with one warp per row */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define WARP 32
#define MAX_COLS 8

// Y (rows x n) = W (rows x cols) * X (cols x n) with n of 1 to 8, as in the decoding of a language model.
__global__ void skinny_gemm(const float *__restrict__ W, const float *__restrict__ X, float *__restrict__ Y, int rows,
                            int n, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float *w = W + (size_t)row * cols;

    float sum[MAX_COLS];
#pragma unroll
    for (int j = 0; j < MAX_COLS; j++) sum[j] = 0.0f;

    for (int k = threadIdx.x; k < cols; k += WARP) {
        const float v = w[k];
#pragma unroll
        for (int j = 0; j < MAX_COLS; j++)
            if (j < n) sum[j] += v * X[(size_t)k * n + j];
    }

#pragma unroll
    for (int j = 0; j < MAX_COLS; j++) {
        for (int mask = WARP / 2; mask > 0; mask >>= 1)
            sum[j] += __shfl_xor_sync(0xffffffff, sum[j], mask);
        if (j < n && threadIdx.x == j) Y[(size_t)row * n + j] = sum[j];
    }
}

int main(void)
{
    int rows = 1001, cols = 500, n = 3;
    float *W, *X, *Y;
    cudaMallocManaged((void **)&W, sizeof(float) * rows * cols);
    cudaMallocManaged((void **)&X, sizeof(float) * cols * n);
    cudaMallocManaged((void **)&Y, sizeof(float) * rows * n);
    for (int i = 0; i < rows * cols; i++) W[i] = rand() % 4;
    for (int i = 0; i < cols * n; i++) X[i] = rand() % 4;

    dim3 block(WARP, 4);
    dim3 grid((rows + 3) / 4);
    skinny_gemm<<<grid, block>>>(W, X, Y, rows, n, cols);
    cudaDeviceSynchronize();

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < cols; k++) s += W[i * cols + k] * X[k * n + j];
            if (s != Y[i * n + j]) {
                printf("FAIL at row %d\n", i);
                return 1;
            }
        }
    printf("PASS\n");
    cudaFree(W);
    cudaFree(X);
    cudaFree(Y);
    return 0;
}
