/* SPDX-License-Identifier: Apache-2.0 */
/* solution - Attention scores: softmax of Q K^T with a causal mask. */
#define BLOCK 128
// rung: grid=n block=BLOCK shared=4*n+4*d

/* Returns the largest value of all threads of the block. */
__device__ float max_block(float value, float *shared)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    __syncthreads(); // the array may still be read
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
    __syncthreads(); // the array may still be read
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int warp = 0; warp < BLOCK / 32; warp++)
        sum += shared[warp];
    return sum;
}

__global__ void attention_scores(const float *q, const float *k, float *p, float factor, int n, int d)
{
    extern __shared__ float scores[]; // n scores of this row, then d elements of q
    __shared__ float shared[BLOCK / 32];
    float *query = scores + n, largest = -INFINITY, sum = 0;
    int row = blockIdx.x;
    for (int i = threadIdx.x; i < d; i += BLOCK)
        query[i] = q[row * d + i];
    __syncthreads();
    for (int col = threadIdx.x / 32; col <= row; col += BLOCK / 32) { // one warp per score
        float product = 0;
        for (int i = threadIdx.x % 32; i < d; i += 32)
            product += query[i] * k[col * d + i];
        for (int offset = 16; offset > 0; offset /= 2)
            product += __shfl_xor_sync(0xffffffff, product, offset);
        if (threadIdx.x % 32 == 0)
            scores[col] = factor * product;
    }
    __syncthreads();
    for (int col = threadIdx.x; col <= row; col += BLOCK)
        largest = fmaxf(largest, scores[col]);
    largest = max_block(largest, shared);
    for (int col = threadIdx.x; col <= row; col += BLOCK)
        sum += expf(scores[col] - largest);
    sum = sum_block(sum, shared);
    for (int col = threadIdx.x; col < n; col += BLOCK)
        p[row * n + col] = col <= row ? expf(scores[col] - largest) / sum : 0;
}
