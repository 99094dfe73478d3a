/* SPDX-License-Identifier: Apache-2.0 */
/* compaction_coalesced_group.cu - coalesced threads of cooperative groups */
// rung: grid=2 block=64 x=i32[128] out=i32[128]:none count=i32[1]:zero
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void compact(const int *x, int *out, int *count)
{
    int value = x[blockIdx.x * 64 + threadIdx.x];
    if (value > 4) {
        cg::coalesced_group active = cg::coalesced_threads();
        int start = 0;
        if (active.thread_rank() == 0)
            start = atomicAdd(count, (int)active.size());
        start = active.shfl(start, 0);
        out[start + active.thread_rank()] = value;
    }
}
