/* SPDX-License-Identifier: Apache-2.0 */
/* named_barrier_roles.cu - the consumers never tell that the buffer is free */
// rung: grid=1 block=64 x=f32[128] y=f32[128]:none
__global__ void pipeline(const float *x, float *y)
{
    __shared__ float data[32];
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; i++)
        if (threadIdx.x < 32) {
            if (i > 0)
                asm volatile("bar.sync 2, 64;" ::: "memory"); // BUG barrier
            data[lane] = x[i * 32 + lane];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory"); // BUG barrier
            y[i * 32 + lane] = data[lane];
        }
}
