/* SPDX-License-Identifier: Apache-2.0 */
/* 07_book_simple - textbook product of square matrices */
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

__global__
void MatrixMulBasic(float *d_M, float *d_N, float *d_P, int Width)
{
    // Row and column of the element of d_P
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;

    if (r < Width && c < Width) {
        float dot = 0;
        for (int k = 0; k < Width; ++k) {
            dot += d_M[r * Width + k] * d_N[k * Width + c];
        }
        d_P[r * Width + c] = dot;
    }
}

void MatrixMultiplication(float *M, float *N, float *P, int Width)
{
    int size = Width * Width * sizeof(float);
    float *d_M, *d_N, *d_P;

    cudaMalloc((void **)&d_M, size);
    cudaMalloc((void **)&d_N, size);
    cudaMalloc((void **)&d_P, size);
    cudaMemcpy(d_M, M, size, cudaMemcpyHostToDevice);
    cudaMemcpy(d_N, N, size, cudaMemcpyHostToDevice);

    const int BLOCK_WIDTH = 16;
    int NumBlocks = Width / BLOCK_WIDTH;
    if (Width % BLOCK_WIDTH) NumBlocks++;
    dim3 dimGrid(NumBlocks, NumBlocks);
    dim3 dimBlock(BLOCK_WIDTH, BLOCK_WIDTH);
    MatrixMulBasic<<<dimGrid, dimBlock>>>(d_M, d_N, d_P, Width);

    cudaMemcpy(P, d_P, size, cudaMemcpyDeviceToHost);
    cudaFree(d_M);
    cudaFree(d_N);
    cudaFree(d_P);
}

int main()
{
    const int Width = 100;
    float *M = (float *)malloc(Width * Width * sizeof(float));
    float *N = (float *)malloc(Width * Width * sizeof(float));
    float *P = (float *)malloc(Width * Width * sizeof(float));
    for (int i = 0; i < Width * Width; i++) {
        M[i] = 1.0f;
        N[i] = 0.5f;
    }
    MatrixMultiplication(M, N, P, Width);
    for (int i = 0; i < Width * Width; i++) {
        if (P[i] != 0.5f * Width) {
            printf("wrong at %d: %f\n", i, P[i]);
            return 1;
        }
    }
    printf("ok\n");
    free(M);
    free(N);
    free(P);
    return 0;
}
