/* SPDX-License-Identifier: Apache-2.0 */
/* shared_index_histogram.cu - the value 1.0 belongs to bin 64 of 64 */
// rung: grid=2 block=128 x=f32[n]:ones bins=u32[64]:zero n=256
__global__ void histogram(const float *x, unsigned *bins, int n)
{
    __shared__ unsigned local[64];
    if (threadIdx.x < 64)
        local[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&local[(int)(x[i] * 64.0f)], 1u); // BUG out-of-bounds
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
