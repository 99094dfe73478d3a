/* SPDX-License-Identifier: Apache-2.0 */
/* division_average.cu - divides by the count of an empty row */
// rung: grid=1 block=32 counts=i32[32] sums=i32[32] averages=i32[32]:none
__global__ void average(const int *counts, const int *sums, int *averages)
{
    averages[threadIdx.x] = sums[threadIdx.x] / counts[threadIdx.x]; // BUG division-by-zero
}
