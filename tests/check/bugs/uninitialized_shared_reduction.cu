/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_shared_reduction.cu - threads beyond n store nothing */
// rung: grid=(n+127)/128 block=128 x=f32[n] partial=f32[(n+127)/128]:none n=300
__global__ void block_sum(const float *x, float *partial, int n)
{
    __shared__ float sums[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    if (i < n)
        sums[t] = x[i];
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (t < stride)
            sums[t] += sums[t + stride]; // BUG uninitialized
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = sums[0];
}
