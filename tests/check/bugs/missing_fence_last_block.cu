/* SPDX-License-Identifier: Apache-2.0 */
/* missing_fence_last_block.cu - the partial sum is not fenced before the counter */
// rung: grid=8 block=64 x=f32[512] partial=f32[8]:none counter=u32[1]:zero sum=f32[1]:none
__global__ void sum_all(const float *x, float *partial, unsigned *counter, float *sum)
{
    __shared__ float s[64];
    __shared__ bool is_last;
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2) {
        if (t < stride)
            s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0]; // BUG race
        is_last = atomicAdd(counter, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && t == 0) {
        float total = 0.0f;
        for (int b = 0; b < gridDim.x; b++)
            total += partial[b]; // BUG race
        *sum = total;
    }
}
