/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_vector_block.cu - one block per row, x in shared memory */
// rung: grid=6 block=64 shared=cols*4 a=f32[6*cols] x=f32[cols] y=f32[6]:none cols=100
__global__ void gemv(const float *a, const float *x, float *y, int cols)
{
    extern __shared__ float xs[];
    __shared__ float warps[2];
    for (int j = threadIdx.x; j < cols; j += 64)
        xs[j] = x[j];
    __syncthreads();
    float sum = 0.0f;
    for (int j = threadIdx.x; j < cols; j += 64)
        sum += a[blockIdx.x * cols + j] * xs[j];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = warps[0] + warps[1];
}
