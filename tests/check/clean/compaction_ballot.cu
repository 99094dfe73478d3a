/* SPDX-License-Identifier: Apache-2.0 */
/* compaction_ballot.cu - one atomic per warp */
// rung: grid=2 block=64 x=i32[n] out=i32[n]:none count=i32[1]:zero n=120
__global__ void compact(const int *x, int *out, int *count, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = i < n && x[i] > 3;
    unsigned votes = __ballot_sync(0xffffffffu, keep);
    int start = 0;
    if (lane == 0)
        start = atomicAdd(count, __popc(votes));
    start = __shfl_sync(0xffffffffu, start, 0);
    if (keep)
        out[start + __popc(votes & ((1u << lane) - 1))] = x[i];
}
