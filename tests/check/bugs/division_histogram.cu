/* SPDX-License-Identifier: Apache-2.0 */
/* division_histogram.cu - the width of a bin is zero */
// rung: grid=2 block=64 x=i32[128] bins=i32[16]:zero range=10 count=16
__global__ void histogram(const int *x, int *bins, int range, int count)
{
    int width = range / count;
    int bin = x[blockIdx.x * 64 + threadIdx.x] / width; // BUG division-by-zero
    atomicAdd(&bins[min(max(bin, 0), count - 1)], 1);
}
