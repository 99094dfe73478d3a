/* SPDX-License-Identifier: Apache-2.0 */
/* global_only - wrong: few global atomic operations */
// rung: grid=(n+4095)/4096 block=256

__global__ void histogram(const unsigned char *data, int *bins, int n)
{
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&bins[data[i]], 1);
}
