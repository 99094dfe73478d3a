/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_local_array.cu - counters of a thread in local memory */
// rung: grid=1 block=32 data=i32[32*20] bins=u32[10]:zero
__global__ void histogram(const int *data, unsigned *bins)
{
    unsigned counts[10];
    for (int b = 0; b < 10; b++)
        counts[b] = 0;
    for (int i = 0; i < 20; i++)
        counts[data[i * 32 + threadIdx.x]]++;
    for (int b = 0; b < 10; b++)
        if (counts[b])
            atomicAdd(&bins[b], counts[b]);
}
