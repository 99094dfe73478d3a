/* SPDX-License-Identifier: Apache-2.0 */
/* shared_index_reduction.cu - the first stride is the size of the block */
// rung: grid=2 block=128 x=f32[256] partial=f32[2]:none
__global__ void block_max(const float *x, float *partial)
{
    __shared__ float best[128];
    int t = threadIdx.x;
    best[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int stride = blockDim.x; stride > 0; stride /= 2) {
        if (t < stride)
            best[t] = fmaxf(best[t], best[t + stride]); // BUG out-of-bounds
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = best[0];
}
