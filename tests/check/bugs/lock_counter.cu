/* SPDX-License-Identifier: Apache-2.0 */
/* lock_counter.cu - two locks for one variable */
// rung: grid=4 block=1 counter=i32[1]:zero locks=i32[2]:zero
__global__ void count(int *counter, int *locks)
{
    int *mine = &locks[blockIdx.x % 2];
    while (atomicCAS(mine, 0, 1) != 0)
        ;
    __threadfence();
    *counter += 1; // BUG race
    __threadfence();
    atomicExch(mine, 0);
}
