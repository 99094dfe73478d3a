/* SPDX-License-Identifier: Apache-2.0 */
/* bfs_frontier.cu - compare and swap on the distance, queue with a counter */
// rung: kernel=clear grid=1 block=64 distance=i32[64]:none
// rung: kernel=expand grid=1 block=32 frontier=i32[32]:iota neighbours=i32[64*4] distance=i32[64]:none next=i32[128]:none count=i32[1]:zero level=1
__global__ void clear(int *distance)
{
    distance[threadIdx.x] = threadIdx.x == 0 ? 0 : -1;
}
__global__ void expand(const int *frontier, const int *neighbours, int *distance, int *next, int *count, int level)
{
    int node = frontier[threadIdx.x];
    for (int e = 0; e < 4; e++) {
        int other = neighbours[node * 4 + e];
        if (atomicCAS(&distance[other], -1, level) == -1)
            next[atomicAdd(count, 1)] = other;
    }
}
