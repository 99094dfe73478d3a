/* SPDX-License-Identifier: Apache-2.0 */
/* division_tiles.cu - the number of tiles per row is zero when the width is less than a tile */
// rung: grid=4 block=32 out=i32[128]:none width=20
__global__ void tile_of(int *out, int width)
{
    int tiles_per_row = width / 32;
    int row = blockIdx.x / tiles_per_row, col = blockIdx.x % tiles_per_row; // BUG division-by-zero
    out[blockIdx.x * 32 + threadIdx.x] = row * 1000 + col;
}
