/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_per_element - wrong: few atomic operations */
// rung: grid=(n+255)/256 block=256

__global__ void reduce_sum(const float *x, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(sum, x[i]);
}
