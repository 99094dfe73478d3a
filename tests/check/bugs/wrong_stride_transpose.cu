/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_stride_transpose.cu - the stride of the input is used for the output */
// rung: grid=(cols+15)/16,(rows+15)/16 block=16,16 in=f32[rows*cols] out=f32[rows*cols]:none rows=32 cols=48
__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < cols && y < rows)
        out[x * cols + y] = in[y * cols + x]; // BUG out-of-bounds
}
