/* SPDX-License-Identifier: Apache-2.0 */
/* producer_consumer_barrier.cu - cuda::barrier in shared memory */
// rung: grid=1 block=64 x=f32[64] y=f32[64]:none
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void exchange(const float *x, float *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ float data[64];
    if (threadIdx.x == 0)
        init(&barrier, 64);
    __syncthreads();
    for (int i = 0; i < 3; i++) {
        data[threadIdx.x] = x[threadIdx.x] + i;
        barrier.arrive_and_wait();
        float other = data[63 - threadIdx.x];
        barrier.arrive_and_wait();
        y[threadIdx.x] = other;
    }
}
