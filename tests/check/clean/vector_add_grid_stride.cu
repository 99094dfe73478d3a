/* SPDX-License-Identifier: Apache-2.0 */
/* vector_add_grid_stride.cu - a grid-stride loop */
// rung: grid=3 block=64 a=f64[n] b=f64[n] c=f64[n]:none n=777
__global__ void add(const double *a, const double *b, double *c, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        c[i] = a[i] + b[i];
}
