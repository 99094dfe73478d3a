/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_read_stencil.cu - reads x[i+1] of the last element */
// rung: grid=(n+127)/128 block=128 x=f32[n] y=f32[n]:none n=333
__global__ void difference(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i + 1] - x[i]; // BUG out-of-bounds
}
