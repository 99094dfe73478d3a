/* SPDX-License-Identifier: Apache-2.0 */
/* reused_array - wrong: public shapes, hidden shapes, no wrong accesses, no races, barriers reached by all, coalesced accesses; found: race */
#define BLOCK 128
// rung: grid=rows block=BLOCK

/* Returns the largest value of all threads of the block. */
__device__ float max_block(float value, float *shared)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    float largest = shared[0];
    for (int warp = 1; warp < BLOCK / 32; warp++)
        largest = fmaxf(largest, shared[warp]);
    return largest;
}

/* Returns the sum of the values of all threads of the block. `shared` has one element per warp. */
__device__ float sum_block(float value, float *shared)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int warp = 0; warp < BLOCK / 32; warp++)
        sum += shared[warp];
    return sum;
}

__global__ void softmax(const float *x, float *y, int rows, int cols)
{
    __shared__ float shared[BLOCK / 32];
    const float *row = x + blockIdx.x * cols;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < cols; i += BLOCK)
        largest = fmaxf(largest, row[i]);
    largest = max_block(largest, shared);
    for (int i = threadIdx.x; i < cols; i += BLOCK)
        sum += expf(row[i] - largest);
    sum = sum_block(sum, shared);
    for (int i = threadIdx.x; i < cols; i += BLOCK)
        y[blockIdx.x * cols + i] = expf(row[i] - largest) / sum;
}
