/* SPDX-License-Identifier: Apache-2.0 */
/* no_tile - wrong: coalesced accesses */
// rung: grid=(cols+31)/32,(rows+7)/8 block=32,8

__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 8 + threadIdx.y;
    if (row < rows && col < cols)
        out[col * rows + row] = in[row * cols + col];
}
