/* SPDX-License-Identifier: Apache-2.0 */
/* race_between_blocks_reduction.cu - the partial sum of a block is added without an atomic */
// rung: grid=4 block=128 x=f32[512] sum=f32[1]:zero
__global__ void sum_all(const float *x, float *sum)
{
    __shared__ float sums[128];
    int t = threadIdx.x;
    sums[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (t < stride)
            sums[t] += sums[t + stride];
        __syncthreads();
    }
    if (t == 0)
        *sum += sums[0]; // BUG race
}
