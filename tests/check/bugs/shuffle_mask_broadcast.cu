/* SPDX-License-Identifier: Apache-2.0 */
/* shuffle_mask_broadcast.cu - reads lane 0, which is not in the mask */
// rung: grid=1 block=64 x=f32[64] y=f32[64]:zero
__global__ void scale_odd(const float *x, float *y)
{
    int i = threadIdx.x;
    unsigned odd = __ballot_sync(0xffffffffu, i & 1);
    if (i & 1) {
        float first = __shfl_sync(odd, x[i], 0); // BUG warp-sync
        y[i] = x[i] * first;
    }
}
