/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_shuffle.cu - shuffles, then one value per warp in shared memory */
// rung: grid=4 block=128 x=f32[512] partial=f32[4]:none
__global__ void block_sum(const float *x, float *partial)
{
    __shared__ float warps[4];
    float value = x[blockIdx.x * 128 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < 4 ? warps[threadIdx.x] : 0.0f;
        for (int d = 2; d > 0; d /= 2)
            value += __shfl_down_sync(0xffffffffu, value, d);
        if (threadIdx.x == 0)
            partial[blockIdx.x] = value;
    }
}
