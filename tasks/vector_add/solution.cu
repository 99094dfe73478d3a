/* SPDX-License-Identifier: Apache-2.0 */
/* solution - vector_add: one thread per element. */
// rung: grid=(n+255)/256 block=256

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
