/* SPDX-License-Identifier: Apache-2.0 */
/* producer_consumer_blocks.cu - block 0 produces, the others consume */
// rung: grid=3 block=32 x=f32[32] data=f32[32]:none flag=i32[1]:zero y=f32[64]:none
__global__ void pass_on(const float *x, float *data, int *flag, float *y)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 0.5f * x[threadIdx.x];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            atomicExch(flag, 1);
    } else {
        if (threadIdx.x == 0)
            while (atomicAdd(flag, 0) == 0)
                ;
        __syncthreads();
        __threadfence();
        y[(blockIdx.x - 1) * 32 + threadIdx.x] = data[threadIdx.x];
    }
}
