/* SPDX-License-Identifier: Apache-2.0 */
/* producer_consumer_flag.cu - volatile flag with __threadfence_block() */
// rung: grid=1 block=64 x=f32[32] y=f32[32]:none
__global__ void pass_on(const float *x, float *y)
{
    __shared__ float data[32];
    __shared__ volatile int ready;
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[lane] = 2.0f * x[lane];
        __threadfence_block();
        __syncwarp();
        if (lane == 0)
            ready = 1;
    } else {
        while (ready == 0)
            ;
        __threadfence_block();
        y[lane] = data[lane];
    }
}
