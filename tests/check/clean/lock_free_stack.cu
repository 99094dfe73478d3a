/* SPDX-License-Identifier: Apache-2.0 */
/* lock_free_stack.cu - compare and swap on the head */
// rung: grid=4 block=8 next=i32[32]:none head=i32[1]:zero
__global__ void push(int *next, int *head)
{
    int node = blockIdx.x * 8 + threadIdx.x, old = atomicAdd(head, 0), seen;
    do {
        seen = old;
        atomicExch(&next[node], seen);
        __threadfence();
        old = atomicCAS(head, seen, node);
    } while (old != seen);
}
