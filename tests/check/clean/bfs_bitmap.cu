/* SPDX-License-Identifier: Apache-2.0 */
/* bfs_bitmap.cu - visited bits with atomicOr() */
// rung: grid=2 block=64 nodes=i32[128] visited=u32[1]:zero order=i32[10]:none count=i32[1]:zero
__global__ void visit(const int *nodes, unsigned *visited, int *order, int *count)
{
    int node = nodes[blockIdx.x * 64 + threadIdx.x];
    unsigned bit = 1u << node;
    if (!(atomicOr(visited, bit) & bit))
        order[atomicAdd(count, 1)] = node;
}
