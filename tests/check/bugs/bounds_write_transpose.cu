/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_write_transpose.cu - rows and columns are exchanged in the check */
// rung: grid=(cols+15)/16,(rows+15)/16 block=16,16 in=f32[64*64] out=f32[rows*cols]:none rows=20 cols=40
__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < cols && y < cols)
        out[x * rows + y] = in[y * cols + x]; // BUG out-of-bounds
}
