/* SPDX-License-Identifier: Apache-2.0 */
/* shuffle_mask_compaction.cu - __ballot_sync() with the full mask in a branch */
// rung: grid=2 block=32 x=i32[64] out=i32[64]:none count=i32[1]:zero large=i32[2]:none
__global__ void compact(const int *x, int *out, int *count, int *large)
{
    int lane = threadIdx.x, value = x[blockIdx.x * 32 + lane];
    if (value > 2) {
        unsigned votes = __ballot_sync(0xffffffffu, value % 2 == 0); // BUG warp-sync
        if (value % 2 == 0) {
            int leader = __ffs(votes) - 1, start = 0;
            if (lane == leader)
                start = atomicAdd(count, __popc(votes));
            start = __shfl_sync(votes, start, leader);
            out[start + __popc(votes & ((1u << lane) - 1))] = value;
        }
    }
    unsigned all = __ballot_sync(0xffffffffu, value > 2);
    if (lane == 0)
        large[blockIdx.x] = __popc(all);
}
