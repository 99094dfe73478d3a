/* SPDX-License-Identifier: Apache-2.0 */
/* tiled.cu - a textbook kernel in plain CUDA, for rung verify and rung explain. */
#define TILE 16

__global__ void matmul(const float *A, const float *B, float *C, int N)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < N / TILE; t++) {
        As[threadIdx.y][threadIdx.x] = A[row * N + t * TILE + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * N + col];
        __syncthreads(); /* the tiles are complete */
        for (int k = 0; k < TILE; k++)
            sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads(); /* the tiles may be overwritten */
    }
    C[row * N + col] = sum;
}

void run(const float *A, const float *B, float *C, int N)
{
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (N + TILE - 1) / TILE);
    matmul<<<grid, block>>>(A, B, C, N);
}
