/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_atomics_block.cu - one atomic per block */
// rung: grid=4 block=64 x=f32[256] sum=f32[1]:zero
__global__ void sum_all(const float *x, float *sum)
{
    __shared__ float total;
    if (threadIdx.x == 0)
        total = 0.0f;
    __syncthreads();
    atomicAdd(&total, x[blockIdx.x * 64 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(sum, total);
}
