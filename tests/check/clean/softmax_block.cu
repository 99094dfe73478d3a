/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_block.cu - one row per block */
// rung: grid=4 block=128 x=f32[4*cols] y=f32[4*cols]:none cols=300
__device__ float reduce(float value, bool is_max, float *shared)
{
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, value, d);
        value = is_max ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (int w = 1; w < 4; w++)
        value = is_max ? fmaxf(value, shared[w]) : value + shared[w];
    return value;
}
__global__ void softmax(const float *x, float *y, int cols)
{
    __shared__ float shared[4];
    const float *row = x + blockIdx.x * cols;
    float best = -3.4e38f, sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 128)
        best = fmaxf(best, row[i]);
    best = reduce(best, true, shared);
    for (int i = threadIdx.x; i < cols; i += 128)
        sum += __expf(row[i] - best);
    sum = reduce(sum, false, shared);
    for (int i = threadIdx.x; i < cols; i += 128)
        y[blockIdx.x * cols + i] = __expf(row[i] - best) / sum;
}
