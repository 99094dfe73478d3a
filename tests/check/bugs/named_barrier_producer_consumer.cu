/* SPDX-License-Identifier: Apache-2.0 */
/* named_barrier_producer_consumer.cu - the count of the barrier is larger than the block */
// rung: grid=1 block=64 x=f32[32] y=f32[32]:none
__global__ void pass_on(const float *x, float *y)
{
    __shared__ float data[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        data[lane] = x[lane] + 1.0f;
        asm volatile("bar.arrive 1, 128;" ::: "memory"); // BUG barrier
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory"); // BUG barrier
        y[lane] = data[lane];
    }
}
