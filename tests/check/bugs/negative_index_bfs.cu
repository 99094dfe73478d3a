/* SPDX-License-Identifier: Apache-2.0 */
/* negative_index_bfs.cu - the parent of the root is -1 */
// rung: kernel=set_parents grid=1 block=64 parent=i32[64]:none
// rung: kernel=depths grid=1 block=64 parent=i32[64] cost=f32[64] depth=f32[64]:none
__global__ void set_parents(int *parent)
{
    parent[threadIdx.x] = threadIdx.x == 0 ? -1 : (int)(threadIdx.x - 1) / 2;
}
__global__ void depths(const int *parent, const float *cost, float *depth)
{
    depth[threadIdx.x] = cost[threadIdx.x] + cost[parent[threadIdx.x]]; // BUG out-of-bounds
}
