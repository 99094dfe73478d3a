/* SPDX-License-Identifier: Apache-2.0 */
/* saxpy.cu - y = a x + y, for rung check. */
// rung: grid=(n+255)/256 block=256 n=1000 a=2.5 x=f32[n] y=f32[n]

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
