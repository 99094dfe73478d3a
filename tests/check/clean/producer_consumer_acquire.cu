/* SPDX-License-Identifier: Apache-2.0 */
/* producer_consumer_acquire.cu - cuda::atomic with block scope */
// rung: grid=1 block=64 x=i32[32] y=i32[32]:none
#include <cuda/atomic>
__global__ void pass_on(const int *x, int *y)
{
    __shared__ int data[32];
    __shared__ int flag;
    cuda::atomic_ref<int, cuda::thread_scope_block> ready(flag);
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[lane] = 3 * x[lane];
        ready.fetch_add(1, cuda::memory_order_release);
    } else {
        while (ready.load(cuda::memory_order_acquire) != 32)
            ;
        y[lane] = data[31 - lane];
    }
}
