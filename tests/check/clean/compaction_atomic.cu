/* SPDX-License-Identifier: Apache-2.0 */
/* compaction_atomic.cu - one counter for all threads */
// rung: grid=4 block=64 x=i32[256] out=i32[256]:none count=i32[1]:zero
__global__ void compact(const int *x, int *out, int *count)
{
    int value = x[blockIdx.x * 64 + threadIdx.x];
    if (value > 4)
        out[atomicAdd(count, 1)] = value;
}
