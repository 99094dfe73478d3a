/* SPDX-License-Identifier: Apache-2.0 */
/* aliasing_shift_left.cu - x[i] = x[i + 1] */
// rung: grid=1 block=128 x=i32[129]
__global__ void shift_left(int *x)
{
    x[threadIdx.x] = x[threadIdx.x + 1]; // BUG race
}
