/* SPDX-License-Identifier: Apache-2.0 */
/* shuffle_mask_max_pool.cu - the upper half of the warp uses the mask of the lower half */
// rung: grid=1 block=32 x=f32[32] y=f32[2]:none
__global__ void max_pool(const float *x, float *y)
{
    int lane = threadIdx.x;
    float value = x[lane];
    if (lane < 16) {
        for (int d = 8; d > 0; d /= 2)
            value = fmaxf(value, __shfl_xor_sync(0x0000ffffu, value, d));
    } else {
        for (int d = 8; d > 0; d /= 2)
            value = fmaxf(value, __shfl_xor_sync(0x0000ffffu, value, d)); // BUG warp-sync
    }
    if (lane % 16 == 0)
        y[lane / 16] = value;
}
