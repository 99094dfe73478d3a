/* SPDX-License-Identifier: Apache-2.0 */
/* endless_loop_countdown.cu - an unsigned counter is always >= 0 */
// rung: grid=1 block=32 x=f32[32*8] y=f32[32]:none
__global__ void sum_backwards(const float *x, float *y)
{
    float sum = 0.0f;
    for (unsigned i = 7; i >= 0; i--) { // BUG infinite-loop
        sum = sum * 0.5f + x[(threadIdx.x * 8 + i) & 255]; // BUG infinite-loop
        y[threadIdx.x] = sum; // BUG infinite-loop
    }
}
