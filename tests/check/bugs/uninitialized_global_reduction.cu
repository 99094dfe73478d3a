/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_global_reduction.cu - atomicAdd() to a sum that nobody has set */
// rung: grid=(n+127)/128 block=128 x=f32[n] sum=f32[1]:none n=500
__global__ void sum_all(const float *x, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, value); // BUG uninitialized
}
