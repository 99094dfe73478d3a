/* SPDX-License-Identifier: Apache-2.0 */
/* named_barrier_two_barriers.cu - two groups wait at two barriers in opposite order */
// rung: grid=1 block=64 x=f32[64] y=f32[64]:none
__global__ void exchange(const float *x, float *y)
{
    __shared__ float data[64];
    data[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory"); // BUG barrier
        asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory"); // BUG barrier
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    y[threadIdx.x] = data[63 - threadIdx.x];
}
