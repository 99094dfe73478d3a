/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_global.cu - atomics in global memory */
// rung: grid=4 block=64 data=u8[256] bins=u32[256]:zero
__global__ void histogram(const unsigned char *data, unsigned *bins)
{
    atomicAdd(&bins[data[blockIdx.x * 64 + threadIdx.x]], 1u);
}
