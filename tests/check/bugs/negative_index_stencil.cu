/* SPDX-License-Identifier: Apache-2.0 */
/* negative_index_stencil.cu - reads x[i-1] of element 0 */
// rung: grid=(n+127)/128 block=128 x=f32[n] y=f32[n]:none n=300
__global__ void laplace(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1)
        y[i] = x[i - 1] - 2.0f * x[i] + x[i + 1]; // BUG out-of-bounds
}
