/* SPDX-License-Identifier: Apache-2.0 */
/* block_histogram.cu - cub::BlockHistogram with atomics: counts of 32 values per block. */
// rung: grid=2 block=128 in=u8[1024]:bytes.npy out=u32[64]:none
#include <cub/block/block_histogram.cuh>

extern "C" __global__ void block_histogram(const unsigned char *in, unsigned *out)
{
    typedef cub::BlockHistogram<unsigned char, 128, 4, 32, cub::BLOCK_HISTO_ATOMIC> histogram;
    __shared__ typename histogram::TempStorage storage;
    __shared__ unsigned counts[32];
    unsigned char items[4];
    for (int i = 0; i < 4; i++)
        items[i] = in[blockIdx.x * 512 + threadIdx.x * 4 + i];
    histogram(storage).Histogram(items, counts);
    __syncthreads();
    if (threadIdx.x < 32)
        out[blockIdx.x * 32 + threadIdx.x] = counts[threadIdx.x];
}
