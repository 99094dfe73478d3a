/* SPDX-License-Identifier: Apache-2.0 */
/* lock_account.cu - the lock is tested and set with plain accesses */
// rung: grid=4 block=1 balance=i32[1]:zero mutex=i32[1]:zero
__global__ void deposit(int *balance, int *mutex)
{
    while (*mutex != 0) // BUG race
        ;
    *mutex = 1; // BUG race
    __threadfence();
    *balance += blockIdx.x; // BUG race
    __threadfence();
    *mutex = 0; // BUG race
}
