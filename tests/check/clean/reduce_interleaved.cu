/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_interleaved.cu - interleaved addressing */
// rung: grid=2 block=128 x=i32[256] partial=i32[2]:none
__global__ void block_sum(const int *x, int *partial)
{
    __shared__ int sums[128];
    int t = threadIdx.x;
    sums[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int s = 1; s < 128; s *= 2) {
        int at = 2 * s * t;
        if (at < 128)
            sums[at] += sums[at + s];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = sums[0];
}
