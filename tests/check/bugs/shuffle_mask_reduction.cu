/* SPDX-License-Identifier: Apache-2.0 */
/* shuffle_mask_reduction.cu - shuffles with the full mask inside of if (i < n) */
// rung: grid=(n+63)/64 block=64 x=f32[n] sum=f32[1]:zero n=100
__global__ void sum_all(const float *x, float *sum, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) {
        float value = x[i];
        for (int d = 16; d > 0; d /= 2)
            value += __shfl_down_sync(0xffffffffu, value, d); // BUG warp-sync
        if (threadIdx.x % 32 == 0)
            atomicAdd(sum, value);
    }
}
