/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_cooperative_groups.cu - tiles of cooperative groups */
// rung: grid=4 block=128 x=i32[512] partial=i32[4]:none
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void block_sum(const int *x, int *partial)
{
    __shared__ int sums[4];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int value = cg::reduce(tile, x[blockIdx.x * 128 + block.thread_rank()], cg::plus<int>());
    if (tile.thread_rank() == 0)
        sums[tile.meta_group_rank()] = value;
    block.sync();
    if (block.thread_rank() == 0)
        partial[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}
