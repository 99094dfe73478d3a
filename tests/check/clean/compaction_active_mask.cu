/* SPDX-License-Identifier: Apache-2.0 */
/* compaction_active_mask.cu - the active lanes of a branch */
// rung: grid=2 block=64 x=i32[128] out=i32[128]:none count=i32[1]:zero
__global__ void compact(const int *x, int *out, int *count)
{
    int value = x[blockIdx.x * 64 + threadIdx.x], lane = threadIdx.x % 32;
    if (value > 4) {
        unsigned active = __activemask();
        int leader = __ffs(active) - 1, start = 0;
        if (lane == leader)
            start = atomicAdd(count, __popc(active));
        start = __shfl_sync(active, start, leader);
        out[start + __popc(active & ((1u << lane) - 1))] = value;
    }
}
