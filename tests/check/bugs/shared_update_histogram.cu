/* SPDX-License-Identifier: Apache-2.0 */
/* shared_update_histogram.cu - shared bins without atomics */
// rung: grid=2 block=128 data=u8[256] bins=u32[16]:zero
__global__ void histogram(const unsigned char *data, unsigned *bins)
{
    __shared__ unsigned local[16];
    if (threadIdx.x < 16)
        local[threadIdx.x] = 0;
    __syncthreads();
    local[data[blockIdx.x * 128 + threadIdx.x] % 16]++; // BUG race
    __syncthreads();
    if (threadIdx.x < 16)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
