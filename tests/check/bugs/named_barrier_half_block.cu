/* SPDX-License-Identifier: Apache-2.0 */
/* named_barrier_half_block.cu - a count of 96 for the 64 threads of half of the block */
// rung: grid=1 block=128 x=f32[128] y=f32[128]:none
__global__ void two_halves(const float *x, float *y)
{
    __shared__ float data[128];
    int half = threadIdx.x / 64, t = threadIdx.x % 64;
    data[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.sync %0, 96;" ::"r"(half + 1) : "memory"); // BUG barrier
    y[threadIdx.x] = data[half * 64 + 63 - t];
}
