/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_global_two_pass_sum.cu - the second pass reads more partial sums than the first has written */
// rung: kernel=first_pass grid=10 block=128 x=f32[1280] partial=f32[128]:none
// rung: kernel=second_pass grid=1 block=128 partial=f32[128]:none sum=f32[1]:none
__device__ float block_sum(float value)
{
    __shared__ float warps[4];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    return warps[0] + warps[1] + warps[2] + warps[3];
}
__global__ void first_pass(const float *x, float *partial)
{
    float sum = block_sum(x[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}
__global__ void second_pass(const float *partial, float *sum)
{
    float total = block_sum(partial[threadIdx.x]); // BUG uninitialized
    if (threadIdx.x == 0)
        *sum = total;
}
