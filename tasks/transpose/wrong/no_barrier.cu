/* SPDX-License-Identifier: Apache-2.0 */
/* no_barrier - wrong: public shapes, hidden shapes, no wrong accesses, no races, coalesced accesses, no bank conflicts; found: race */
#define TILE 32
#define ROWS 8
// rung: grid=(cols+TILE-1)/TILE,(rows+TILE-1)/TILE block=TILE,ROWS

__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS)
        if (row + i < rows && col < cols)
            tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * cols + col];
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS)
        if (row + i < cols && col < rows)
            out[(row + i) * rows + col] = tile[threadIdx.x][threadIdx.y + i];
}
