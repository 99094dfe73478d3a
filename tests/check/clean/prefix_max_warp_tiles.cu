/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_max_warp_tiles.cu - tiles of four lanes */
// rung: grid=1 block=32 x=i32[32] y=i32[32]:none
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__global__ void prefix(const int *x, int *y)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    y[threadIdx.x] = cg::inclusive_scan(tile, x[threadIdx.x]);
}
