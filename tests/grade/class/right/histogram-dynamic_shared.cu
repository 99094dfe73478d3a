/* SPDX-License-Identifier: Apache-2.0 */
/* histogram-dynamic_shared - Dynamic shared memory, and a block size that is not the number of bins. */
// rung: grid=(n+8191)/8192 block=512 shared=1024

__global__ void histogram(const unsigned char *data, int *bins, int n)
{
    extern __shared__ int counts[];
    const int thread = threadIdx.x;
    if (thread < 256)
        counts[thread] = 0;
    __syncthreads();
    int end = min(n, (int)(blockIdx.x + 1) * 8192);
    for (int i = blockIdx.x * 8192 + thread; i < end; i += 512)
        atomicAdd(counts + data[i], 1);
    __syncthreads();
    if (thread < 256)
        atomicAdd(bins + thread, counts[thread]);
}
