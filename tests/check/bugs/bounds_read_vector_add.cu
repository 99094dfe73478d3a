/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_read_vector_add.cu - no bounds check */
// rung: grid=4 block=256 a=f32[1000] b=f32[1000] c=f32[1024]:none
__global__ void add(const float *a, const float *b, float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i]; // BUG out-of-bounds
}
