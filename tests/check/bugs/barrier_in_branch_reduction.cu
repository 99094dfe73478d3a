/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_in_branch_reduction.cu - __syncthreads() inside of if (thread < stride) */
// rung: grid=4 block=256 x=f32[1024] partial=f32[4]:none
__global__ void block_sum(const float *x, float *partial)
{
    __shared__ float sums[256];
    int t = threadIdx.x;
    sums[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int stride = 128; stride > 0; stride /= 2) {
        if (t < stride) {
            sums[t] += sums[t + stride];
            __syncthreads(); // BUG barrier
        }
    }
    if (t == 0)
        partial[blockIdx.x] = sums[0];
}
