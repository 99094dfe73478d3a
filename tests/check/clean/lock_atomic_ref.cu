/* SPDX-License-Identifier: Apache-2.0 */
/* lock_atomic_ref.cu - acquire and release with cuda::atomic_ref */
// rung: grid=4 block=1 value=i32[1]:zero mutex=i32[1]:zero
#include <cuda/atomic>
__global__ void count(int *value, int *mutex)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> lock(*mutex);
    while (lock.exchange(1, cuda::memory_order_acquire) != 0)
        ;
    *value += blockIdx.x;
    lock.store(0, cuda::memory_order_release);
}
