/* SPDX-License-Identifier: Apache-2.0 */
/* missing_barrier_reduction.cu - no barrier between the load and the tree */
// rung: grid=(n+255)/256 block=256 x=f32[n] partial=f32[(n+255)/256]:none n=1000
__global__ void block_sum(const float *x, float *partial, int n)
{
    __shared__ float sums[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0.0f; // BUG race
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            sums[threadIdx.x] += sums[threadIdx.x + stride]; // BUG race
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sums[0];
}
