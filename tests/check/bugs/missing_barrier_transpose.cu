/* SPDX-License-Identifier: Apache-2.0 */
/* missing_barrier_transpose.cu - no barrier between the store to the tile and the transposed load */
// rung: grid=(cols+31)/32,(rows+31)/32 block=32,8 in=f32[rows*cols] out=f32[rows*cols]:none rows=70 cols=50
#define TILE 32
__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += blockDim.y)
        if (x < cols && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x]; // BUG race
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += blockDim.y)
        if (x < rows && y + j < cols)
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j]; // BUG race
}
