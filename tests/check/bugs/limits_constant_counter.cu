/* SPDX-License-Identifier: Apache-2.0 */
/* limits_constant_counter.cu - atomicAdd() on constant memory */
// rung: grid=1 block=32 x=i32[32]
__constant__ int counters[10];
__global__ void count(const int *x)
{
    atomicAdd(const_cast<int *>(&counters[x[threadIdx.x]]), 1); // BUG read-only
}
