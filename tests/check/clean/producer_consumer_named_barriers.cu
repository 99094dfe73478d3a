/* SPDX-License-Identifier: Apache-2.0 */
/* producer_consumer_named_barriers.cu - one warp produces, one consumes */
// rung: grid=1 block=64 x=f32[256] y=f32[256]:none
__global__ void pipeline(const float *x, float *y)
{
    __shared__ float data[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 8; i++) {
            if (i >= 2)
                asm volatile("bar.sync %0, 64;" ::"r"(3 + i % 2) : "memory");
            data[i % 2][lane] = x[i * 32 + lane];
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + i % 2) : "memory");
        }
    } else {
        for (int i = 0; i < 8; i++) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + i % 2) : "memory");
            y[i * 32 + lane] = 2.0f * data[i % 2][31 - lane];
            if (i < 6)
                asm volatile("bar.arrive %0, 64;" ::"r"(3 + i % 2) : "memory");
        }
    }
}
