/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_shared.cu - a tree in shared memory */
// rung: grid=(n+255)/256 block=256 x=f32[n] partial=f32[(n+255)/256]:none n=1000
__global__ void block_sum(const float *x, float *partial, int n)
{
    __shared__ float sums[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int stride = 128; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            sums[threadIdx.x] += sums[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sums[0];
}
