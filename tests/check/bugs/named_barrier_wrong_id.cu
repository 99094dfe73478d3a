/* SPDX-License-Identifier: Apache-2.0 */
/* named_barrier_wrong_id.cu - the consumers wait at another barrier */
// rung: grid=1 block=96 x=f32[32] y=f32[64]:none
__global__ void broadcast(const float *x, float *y)
{
    __shared__ float data[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        data[lane] = x[lane];
        asm volatile("bar.sync 1, 96;" ::: "memory"); // BUG barrier
    } else {
        asm volatile("bar.sync 2, 96;" ::: "memory"); // BUG barrier
        y[threadIdx.x - 32] = data[lane];
    }
}
