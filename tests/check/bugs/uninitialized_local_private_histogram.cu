/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_local_private_histogram.cu - the counters of a thread are not set */
// rung: grid=1 block=64 data=u8[64*40] bins=u32[16]:zero
__global__ void histogram(const unsigned char *data, unsigned *bins)
{
    unsigned counts[16];
    for (int i = 0; i < 40; i++)
        counts[data[i * 64 + threadIdx.x] % 16]++; // BUG uninitialized
    for (int b = 0; b < 16; b++)
        atomicAdd(&bins[b], counts[b]); // BUG uninitialized
}
