/* SPDX-License-Identifier: Apache-2.0 */
/* saxpy.cu - y = a x + y in place */
// rung: grid=(n+127)/128 block=128 x=f32[n] y=f32[n] n=555 a=2.5
__global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
