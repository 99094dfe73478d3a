/* SPDX-License-Identifier: Apache-2.0 */
/* race_between_blocks_maximum.cu - compares and stores the maximum without an atomic */
// rung: grid=4 block=64 x=f32[256] best=f32[1]:zero
__global__ void maximum(const float *x, float *best)
{
    float value = x[blockIdx.x * 64 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, d));
    if (threadIdx.x == 0 && value > *best) // BUG race
        *best = value; // BUG race
}
