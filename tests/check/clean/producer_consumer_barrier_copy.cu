/* SPDX-License-Identifier: Apache-2.0 */
/* producer_consumer_barrier_copy.cu - cuda::memcpy_async completes a cuda::barrier */
// rung: grid=2 block=64 x=f32[128] y=f32[128]:none
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void reverse(const float *x, float *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ __align__(16) float data[64];
    if (threadIdx.x == 0)
        init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(&data[threadIdx.x], x + blockIdx.x * 64 + threadIdx.x, sizeof(float), barrier);
    barrier.arrive_and_wait();
    y[blockIdx.x * 64 + threadIdx.x] = data[63 - threadIdx.x];
}
