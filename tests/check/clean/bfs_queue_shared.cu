/* SPDX-License-Identifier: Apache-2.0 */
/* bfs_queue_shared.cu - a queue in shared memory, then one atomic per block */
// rung: grid=2 block=64 nodes=i32[128] queue=i32[128]:none tail=i32[1]:zero
__global__ void enqueue(const int *nodes, int *queue, int *tail)
{
    __shared__ int local[64], count, start;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    int node = nodes[blockIdx.x * 64 + threadIdx.x];
    if (node > 5)
        local[atomicAdd(&count, 1)] = node;
    __syncthreads();
    if (threadIdx.x == 0)
        start = atomicAdd(tail, count);
    __syncthreads();
    if (threadIdx.x < count)
        queue[start + threadIdx.x] = local[threadIdx.x];
}
