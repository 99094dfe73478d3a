/* SPDX-License-Identifier: Apache-2.0 */
/* half_block_barriers.cu - each half of the block has its own named barrier */
// rung: grid=1 block=128 x=f32[128] y=f32[128]:none
__global__ void two_halves(const float *x, float *y)
{
    __shared__ float data[128];
    int half = threadIdx.x / 64, t = threadIdx.x % 64;
    for (int i = 0; i < 2 + half; i++) {
        data[threadIdx.x] = x[threadIdx.x] + i;
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
        y[threadIdx.x] = data[half * 64 + 63 - t];
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    }
}
