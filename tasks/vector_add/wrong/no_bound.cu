/* SPDX-License-Identifier: Apache-2.0 */
/* no_bound - wrong: no wrong accesses; found: out-of-bounds */
// rung: grid=(n+255)/256 block=256

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}
