/* SPDX-License-Identifier: Apache-2.0 */
/* vector_add-grid_stride - A loop over the grid, with few blocks and restrict pointers. */
// rung: grid=4 block=128

__global__ void vector_add(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, const int n)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        c[i] = a[i] + b[i];
}
