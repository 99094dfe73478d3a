/* SPDX-License-Identifier: Apache-2.0 */
/* transpose-swizzled - Columns of the tile are exchanged instead of padded. */
// rung: grid=(cols+31)/32,(rows+31)/32 block=32,32

__device__ int swizzled(int y, int x) { return y * 32 + (x ^ y); }

__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32 * 32];
    unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < cols && y < rows) tile[swizzled(threadIdx.y, threadIdx.x)] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    if (x < rows && y < cols) out[y * rows + x] = tile[swizzled(threadIdx.x, threadIdx.y)];
}
