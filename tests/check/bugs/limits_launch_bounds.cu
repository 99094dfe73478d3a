/* SPDX-License-Identifier: Apache-2.0 */
/* limits_launch_bounds.cu - more threads than __launch_bounds__ allows */
// rung: grid=1 block=256 x=f32[256]
__global__ void __launch_bounds__(128) scale(float *x) // BUG limit
{
    x[threadIdx.x] *= 2.0f;
}
