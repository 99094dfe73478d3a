/* SPDX-License-Identifier: Apache-2.0 */
/* missing_fence_block_fence.cu - __threadfence_block() where blocks communicate */
// rung: grid=4 block=64 x=f32[256] partial=f32[4]:none counter=u32[1]:zero sum=f32[1]:none
__global__ void sum_all(const float *x, float *partial, unsigned *counter, float *sum)
{
    __shared__ float warps[2];
    float value = x[blockIdx.x * 64 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = warps[0] + warps[1]; // BUG race
        __threadfence_block();
        if (atomicAdd(counter, 1u) == gridDim.x - 1) {
            __threadfence_block();
            float total = 0.0f;
            for (int b = 0; b < gridDim.x; b++)
                total += partial[b]; // BUG race
            *sum = total;
        }
    }
}
