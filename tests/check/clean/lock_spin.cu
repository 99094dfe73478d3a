/* SPDX-License-Identifier: Apache-2.0 */
/* lock_spin.cu - a spin lock between blocks */
// rung: grid=8 block=32 values=i32[8] total=i32[2]:zero mutex=i32[1]:zero
__global__ void add_under_lock(const int *values, int *total, int *mutex)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(mutex, 0, 1) != 0)
            ;
        __threadfence();
        total[0] += values[blockIdx.x];
        total[1] += 1;
        __threadfence();
        atomicExch(mutex, 0);
    }
}
