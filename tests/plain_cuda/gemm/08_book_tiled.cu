/* SPDX-License-Identifier: Apache-2.0 */
/* 08_book_tiled - textbook tiled product of square matrices */
#include <cuda_runtime.h>

#define TILE_WIDTH 16

__global__ void tiledMatrixMul(float* d_M, float* d_N, float* d_P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int bx = blockIdx.x;  int by = blockIdx.y;
    int tx = threadIdx.x; int ty = threadIdx.y;

    int Row = by * TILE_WIDTH + ty;
    int Col = bx * TILE_WIDTH + tx;

    float Pvalue = 0;
    // Phases: one tile of d_M and one of d_N each
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[ty][tx] = d_M[Row * Width + ph * TILE_WIDTH + tx];
        Nds[ty][tx] = d_N[(ph * TILE_WIDTH + ty) * Width + Col];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();
    }
    d_P[Row * Width + Col] = Pvalue;
}

void launch_tiled(float* d_M, float* d_N, float* d_P, int Width)
{
    dim3 dimGrid(Width / TILE_WIDTH, Width / TILE_WIDTH, 1);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    tiledMatrixMul<<<dimGrid, dimBlock>>>(d_M, d_N, d_P, Width);
}
