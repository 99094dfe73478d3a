/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_in_branch_transpose.cu - threads at the edge return before the barrier */
// rung: grid=(cols+15)/16,(rows+15)/16 block=16,16 in=f32[rows*cols] out=f32[rows*cols]:none rows=40 cols=24
__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= cols || y >= rows)
        return; // BUG barrier
    tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads(); // BUG barrier
    int tx = blockIdx.y * 16 + threadIdx.x, ty = blockIdx.x * 16 + threadIdx.y;
    if (tx < rows && ty < cols)
        out[ty * rows + tx] = tile[threadIdx.x][threadIdx.y];
}
