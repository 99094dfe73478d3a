/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_shared_histogram.cu - the shared bins are not set to zero */
// rung: grid=4 block=128 data=u8[512] bins=u32[32]:zero
__global__ void histogram(const unsigned char *data, unsigned *bins)
{
    __shared__ unsigned local[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&local[data[i] % 32], 1u); // BUG uninitialized
    __syncthreads();
    if (threadIdx.x < 32)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]); // BUG uninitialized
}
