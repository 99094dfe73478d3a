/* SPDX-License-Identifier: Apache-2.0 */
/* reduction-two_kernels - Two launches without atomic operations: sums of blocks, then their sum. */
// rung: kernel=sum_blocks grid=(n+1023)/1024 block=256 parts=f32[(n+1023)/1024]
// rung: kernel=sum_parts grid=1 block=128 count=(n+1023)/1024

template <int BLOCK> __device__ float sum_of_block(float value)
{
    __shared__ float warps[BLOCK / 32];
    for (int lane = 16; lane; lane >>= 1)
        value += __shfl_down_sync(~0u, value, lane);
    if (!(threadIdx.x & 31))
        warps[threadIdx.x >> 5] = value;
    __syncthreads();
    value = threadIdx.x < BLOCK / 32 ? warps[threadIdx.x] : 0;
    if (threadIdx.x < 32)
        for (int lane = 16; lane; lane >>= 1)
            value += __shfl_down_sync(~0u, value, lane);
    return value;
}

__global__ void sum_blocks(const float *x, float *parts, int n)
{
    float value = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        value += x[i];
    value = sum_of_block<256>(value);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = value;
}

__global__ void sum_parts(const float *parts, float *sum, int count)
{
    float value = 0;
    for (int i = threadIdx.x; i < count; i += 128)
        value += parts[i];
    value = sum_of_block<128>(value);
    if (threadIdx.x == 0)
        *sum = value;
}
