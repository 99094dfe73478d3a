/* SPDX-License-Identifier: Apache-2.0 */
/* copy_without_wait_stencil.cu - a barrier instead of the wait */
// rung: grid=n/128 block=128 x=f32[n+4] y=f32[n]:none n=256
__global__ void stencil(const float *x, float *y, int n)
{
    __shared__ float tile[132];
    int i = blockIdx.x * 128 + threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + i) : "memory"); // BUG async-copy
    if (threadIdx.x < 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + 512), "l"(x + i + 128) : "memory"); // BUG async-copy
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    float sum = 0.0f;
    for (int t = 0; t < 5; t++)
        sum += tile[threadIdx.x + t]; // BUG async-copy
    y[i] = sum;
}
