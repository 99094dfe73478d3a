/* SPDX-License-Identifier: Apache-2.0 */
/* division_batch.cu - the remainder by an argument that is zero */
// rung: grid=1 block=64 x=f32[64] y=f32[64]:none period=0
__global__ void repeat(const float *x, float *y, int period)
{
    y[threadIdx.x] = x[threadIdx.x % period]; // BUG division-by-zero
}
