/* SPDX-License-Identifier: Apache-2.0 */
/* endless_loop_flag.cu - waits for a flag that nobody sets */
// rung: grid=1 block=64 flag=i32[1]:zero x=f32[64]
__global__ void wait_for_flag(volatile int *flag, float *x)
{
    while (*flag == 0) // BUG infinite-loop
        ; // BUG infinite-loop
    x[threadIdx.x] *= 2.0f;
}
