/* SPDX-License-Identifier: Apache-2.0 */
/* saxpy_twice.cu - two launches on the same arrays */
// rung: grid=(n+127)/128 block=128 x=f32[n] y=f32[n]:zero n=300 a=2.0
// rung: grid=(n+127)/128 block=128 x=f32[n] y=f32[n]:zero n=300 a=-1.0
__global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
