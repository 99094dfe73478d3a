/* SPDX-License-Identifier: Apache-2.0 */
/* copy_without_barrier_reduction.cu - the tree starts right after the wait */
// rung: grid=2 block=128 x=f32[256] partial=f32[2]:none
__global__ void block_sum(const float *x, float *partial)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + blockIdx.x * 128 + t) : "memory"); // BUG race
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int stride = 64; stride > 0; stride /= 2) {
        if (t < stride)
            s[t] += s[t + stride]; // BUG race
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = s[0];
}
