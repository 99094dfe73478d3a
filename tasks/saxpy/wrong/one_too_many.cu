/* SPDX-License-Identifier: Apache-2.0 */
/* one_too_many - wrong: no wrong accesses; found: out-of-bounds */
// rung: grid=(n+255)/256 block=256

__global__ void saxpy(float factor, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        y[i] = factor * x[i] + y[i];
}
