/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_match.cu - lanes with the same bin are added by one lane */
// rung: grid=2 block=64 data=i32[128] bins=u32[10]:zero
__global__ void histogram(const int *data, unsigned *bins)
{
    int bin = data[blockIdx.x * 64 + threadIdx.x];
    unsigned peers = __match_any_sync(0xffffffffu, bin);
    if (threadIdx.x % 32 == __ffs(peers) - 1)
        atomicAdd(&bins[bin], (unsigned)__popc(peers));
}
