/* SPDX-License-Identifier: Apache-2.0 */
/* row_offset - wrong: public shapes, hidden shapes, no wrong accesses, no races, barriers reached by all, coalesced accesses; found: out-of-bounds, race, uninitialized */
#define BLOCK 128
// rung: grid=rows block=BLOCK

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

__global__ void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int rows, int cols)
{
    __shared__ float shared[BLOCK / 32];
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < cols; i += BLOCK)
        sum += row[i];
    float mean = sum_block(sum, shared) / cols;
    for (int i = threadIdx.x; i < cols; i += BLOCK)
        squares += (row[i] - mean) * (row[i] - mean);
    float factor = rsqrtf(sum_block(squares, shared) / cols + 1e-5f);
    for (int i = threadIdx.x; i < cols; i += BLOCK)
        y[blockIdx.x * cols + i] = (row[i] - mean) * factor * gamma[blockIdx.x * cols + i] + beta[i];
}
