/* SPDX-License-Identifier: Apache-2.0 */
/* shared_update_sum.cu - total += x in shared memory */
// rung: grid=2 block=64 x=f32[128] sums=f32[2]:none
__global__ void block_sum(const float *x, float *sums)
{
    __shared__ float total;
    if (threadIdx.x == 0)
        total = 0.0f;
    __syncthreads();
    total += x[blockIdx.x * 64 + threadIdx.x]; // BUG race
    __syncthreads();
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total;
}
