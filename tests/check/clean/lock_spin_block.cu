/* SPDX-License-Identifier: Apache-2.0 */
/* lock_spin_block.cu - a block enters the critical section as a whole */
// rung: grid=4 block=64 values=i32[256] total=i32[64]:zero mutex=i32[1]:zero
__global__ void add_under_lock(const int *values, int *total, int *mutex)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(mutex, 0, 1) != 0)
            ;
        __threadfence();
    }
    __syncthreads();
    total[threadIdx.x] += values[blockIdx.x * 64 + threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicExch(mutex, 0);
}
