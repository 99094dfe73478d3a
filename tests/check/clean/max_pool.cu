/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool.cu - two halves of a warp use their own masks */
// rung: grid=1 block=32 x=f32[32] y=f32[2]:none
__global__ void max_pool(const float *x, float *y)
{
    int lane = threadIdx.x;
    float value = x[lane];
    unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    for (int d = 8; d > 0; d /= 2)
        value = fmaxf(value, __shfl_xor_sync(mask, value, d));
    if (lane % 16 == 0)
        y[lane / 16] = value;
}
