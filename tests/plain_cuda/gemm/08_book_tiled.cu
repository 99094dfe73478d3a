/* SPDX-License-Identifier: Apache-2.0 */
/* 08_book_tiled - textbook tiled product of square matrices */
#include <cuda_runtime.h>

#define TILE_WIDTH 16

__global__ void tiledMatrixMul(float* d_M, float* d_N, float* d_P, int Width)
{
    __shared__ float tileM[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tileN[TILE_WIDTH][TILE_WIDTH];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = TILE_WIDTH * blockIdx.y + ty;
    const int col = TILE_WIDTH * blockIdx.x + tx;

    float sum = 0;
    // Phases: one tile of d_M and one of d_N each
    for (int first = 0; first < Width; first += TILE_WIDTH) {
        tileM[ty][tx] = d_M[row * Width + first + tx];
        tileN[ty][tx] = d_N[(first + ty) * Width + col];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; ++k) {
            sum += tileM[ty][k] * tileN[k][tx];
        }
        __syncthreads();
    }
    d_P[row * Width + col] = sum;
}

void launch_tiled(float* d_M, float* d_N, float* d_P, int Width)
{
    dim3 dimGrid(Width / TILE_WIDTH, Width / TILE_WIDTH, 1);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    tiledMatrixMul<<<dimGrid, dimBlock>>>(d_M, d_N, d_P, Width);
}
