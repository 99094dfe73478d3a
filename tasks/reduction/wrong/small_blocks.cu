/* SPDX-License-Identifier: Apache-2.0 */
/* small_blocks - wrong: occupancy */
#define BLOCK 32
// rung: grid=(n+1023)/1024 block=BLOCK

__global__ void reduce_sum(const float *x, float *sum, int n)
{
    __shared__ float partial[BLOCK / 32];
    float own = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        own += x[i];
    for (int offset = 16; offset > 0; offset /= 2)
        own += __shfl_down_sync(0xffffffff, own, offset);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0;
        for (int warp = 0; warp < BLOCK / 32; warp++)
            total += partial[warp];
        atomicAdd(sum, total);
    }
}
