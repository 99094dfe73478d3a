/* SPDX-License-Identifier: Apache-2.0 */
/* overwrites - wrong: public shapes, hidden shapes, no wrong accesses, no races, coalesced accesses, memory traffic */
// rung: grid=(n+255)/256 block=256

__global__ void saxpy(float factor, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = factor * x[i];
}
