/* SPDX-License-Identifier: Apache-2.0 */
/* race_between_blocks_histogram.cu - bins[x]++ in global memory */
// rung: grid=4 block=64 data=u8[256] bins=u32[16]:zero
__global__ void histogram(const unsigned char *data, unsigned *bins)
{
    bins[data[blockIdx.x * 64 + threadIdx.x] % 16]++; // BUG race
}
