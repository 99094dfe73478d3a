/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_in_branch_histogram.cu - only threads that have data reach the barrier */
// rung: grid=(n+255)/256 block=256 data=u8[n] bins=u32[16]:zero n=600
__global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
    __shared__ unsigned local[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 16)
        local[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) {
        atomicAdd(&local[data[i] % 16], 1u);
        __syncthreads(); // BUG barrier
        if (threadIdx.x < 16)
            atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}
