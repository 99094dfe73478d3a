/* SPDX-License-Identifier: Apache-2.0 */
/* async_cooperative_groups.cu - memcpy_async of a block and its wait */
// rung: grid=2 block=64 x=f32[128] y=f32[128]:none
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void scale(const float *x, float *y)
{
    __shared__ __align__(16) float tile[64];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, tile, x + blockIdx.x * 64, sizeof tile);
    cg::wait(block);
    y[blockIdx.x * 64 + threadIdx.x] = 2.0f * tile[63 - threadIdx.x];
}
