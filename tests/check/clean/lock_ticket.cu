/* SPDX-License-Identifier: Apache-2.0 */
/* lock_ticket.cu - a ticket lock */
// rung: grid=6 block=1 log=i32[6]:none length=i32[1]:zero lock=u32[2]:zero
__global__ void append(int *log, int *length, unsigned *lock)
{
    unsigned ticket = atomicAdd(&lock[0], 1u);
    while (atomicAdd(&lock[1], 0u) != ticket)
        ;
    __threadfence();
    log[*length] = blockIdx.x;
    *length += 1;
    __threadfence();
    atomicAdd(&lock[1], 1u);
}
