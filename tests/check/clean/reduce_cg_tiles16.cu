/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_cg_tiles16.cu - tiles of 16 threads with their own shuffles */
// rung: grid=1 block=64 x=f32[64] y=f32[4]:none
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void sums_of_16(const float *x, float *y)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    float value = x[threadIdx.x];
    for (int d = 8; d > 0; d /= 2)
        value += tile.shfl_down(value, d);
    if (tile.thread_rank() == 0)
        y[threadIdx.x / 16] = value;
}
