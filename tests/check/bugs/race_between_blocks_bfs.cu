/* SPDX-License-Identifier: Apache-2.0 */
/* race_between_blocks_bfs.cu - the tail of the queue is advanced without an atomic */
// rung: grid=4 block=32 nodes=i32[128] queue=i32[256]:none tail=i32[1]:zero
__global__ void enqueue(const int *nodes, int *queue, int *tail)
{
    int node = nodes[blockIdx.x * 32 + threadIdx.x];
    if (node > 4) {
        int at = (*tail)++; // BUG race
        queue[at] = node; // BUG race
    }
}
