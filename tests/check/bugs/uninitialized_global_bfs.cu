/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_global_bfs.cu - the array of distances is not set */
// rung: grid=1 block=64 frontier=i32[64]:iota neighbours=i32[64*4] distance=i32[64]:none next=i32[256]:none count=i32[1]:zero level=1
__global__ void expand(const int *frontier, const int *neighbours, int *distance, int *next, int *count, int level)
{
    int node = frontier[threadIdx.x];
    for (int e = 0; e < 4; e++) {
        int other = neighbours[node * 4 + e];
        if (atomicCAS(&distance[other], -1, level) == -1) // BUG uninitialized
            next[atomicAdd(count, 1)] = other;
    }
}
