/* SPDX-License-Identifier: Apache-2.0 */
/* async_gather.cu - 4-byte asynchronous copies with a gather index */
// rung: grid=2 block=64 x=f32[10] index=i32[128] y=f32[128]:none
__global__ void gather(const float *x, const int *index, float *y)
{
    __shared__ float tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + index[i]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    y[i] = tile[63 - threadIdx.x];
}
