/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_partial_warp.cu - the mask of a partial warp comes from a ballot */
// rung: grid=(n+63)/64 block=64 x=f32[n] sum=f32[1]:zero n=100
__global__ void sum_all(const float *x, float *sum, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
        int lane = threadIdx.x % 32, count = __popc(mask);
        float value = x[i];
        for (int d = 16; d > 0; d /= 2) {
            float other = __shfl_down_sync(mask, value, lane + d < count ? d : 0);
            if (lane + d < count)
                value += other;
        }
        if (lane == 0)
            atomicAdd(sum, value);
    }
}
