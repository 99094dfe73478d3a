/* SPDX-License-Identifier: Apache-2.0 */
/* no_barrier - wrong: public shapes, hidden shapes, no wrong accesses, no races, few global atomic operations; found: race */
#define BINS 256
// rung: grid=(n+4095)/4096 block=BINS

__global__ void histogram(const unsigned char *data, int *bins, int n)
{
    __shared__ int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BINS + threadIdx.x; i < n; i += gridDim.x * BINS)
        atomicAdd(&own[data[i]], 1);
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
