/* SPDX-License-Identifier: Apache-2.0 */
/* not_cleared - wrong: public shapes, hidden shapes, no wrong accesses, no races, few global atomic operations; found: uninitialized */
#define BINS 256
// rung: grid=(n+4095)/4096 block=BINS

__global__ void histogram(const unsigned char *data, int *bins, int n)
{
    __shared__ int own[BINS];
    for (int i = blockIdx.x * BINS + threadIdx.x; i < n; i += gridDim.x * BINS)
        atomicAdd(&own[data[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
