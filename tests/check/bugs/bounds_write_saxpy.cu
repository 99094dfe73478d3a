/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_write_saxpy.cu - i <= n */
// rung: grid=(n+128)/128 block=128 x=f32[n+1] y=f32[n] n=512 a=2.0
__global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        y[i] = a * x[i] + y[i]; // BUG out-of-bounds
}
