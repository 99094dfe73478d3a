/* SPDX-License-Identifier: Apache-2.0 */
/* lock_histogram.cu - the lock is released without a fence */
// rung: grid=16 block=32 x=i32[16] bins=i32[10]:zero mutex=i32[1]:zero
__global__ void histogram(const int *x, int *bins, int *mutex)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(mutex, 0, 1) != 0)
            ;
        bins[x[blockIdx.x]] += 1; // BUG race
        bins[9 - x[blockIdx.x]] += 2; // BUG race
        atomicExch(mutex, 0);
    }
}
