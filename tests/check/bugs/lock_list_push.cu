/* SPDX-License-Identifier: Apache-2.0 */
/* lock_list_push.cu - the head of the list is read outside of the lock */
// rung: grid=4 block=1 next=i32[4]:none head=i32[1]:zero mutex=i32[1]:zero
__global__ void push(int *next, int *head, int *mutex)
{
    int node = blockIdx.x, old = *head; // BUG race
    while (atomicCAS(mutex, 0, 1) != 0)
        ;
    __threadfence();
    next[node] = old;
    *head = node; // BUG race
    __threadfence();
    atomicExch(mutex, 0);
}
