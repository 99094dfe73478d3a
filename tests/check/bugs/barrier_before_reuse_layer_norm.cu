/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_before_reuse_layer_norm.cu - the array of the reduction is reused for the second sum without a barrier */
// rung: grid=3 block=128 x=f32[3*cols] y=f32[3*cols]:none cols=256
__device__ float block_sum(float value, float *shared)
{
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value; // BUG race
    __syncthreads();
    float sum = 0.0f;
    for (int w = 0; w < blockDim.x / 32; w++)
        sum += shared[w]; // BUG race
    return sum;
}
__global__ void layer_norm(const float *x, float *y, int cols)
{
    __shared__ float shared[32];
    const float *row = x + blockIdx.x * cols;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        sum += row[i];
    float mean = block_sum(sum, shared) / cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        squares += (row[i] - mean) * (row[i] - mean);
    float scale = rsqrtf(block_sum(squares, shared) / cols + 1e-5f);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[blockIdx.x * cols + i] = (row[i] - mean) * scale;
}
