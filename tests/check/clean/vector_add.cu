/* SPDX-License-Identifier: Apache-2.0 */
/* vector_add.cu - one thread per element */
// rung: grid=(n+255)/256 block=256 a=f32[n] b=f32[n] c=f32[n]:none n=1000
__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
