/* SPDX-License-Identifier: Apache-2.0 */
/* round_down - wrong: hidden shapes */
// rung: grid=n/256+1/(n/256+1) block=256

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
