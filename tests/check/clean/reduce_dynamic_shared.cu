/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_dynamic_shared.cu - a tree in dynamic shared memory */
// rung: grid=2 block=64 shared=64*4 x=f32[256] partial=f32[2]:none
extern __shared__ float sums[];
__global__ void block_max(const float *x, float *partial)
{
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    sums[t] = fmaxf(x[i], x[i + 64]);
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            sums[t] = fmaxf(sums[t], sums[t + s]);
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = sums[0];
}
