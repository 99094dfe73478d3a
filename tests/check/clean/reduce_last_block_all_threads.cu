/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_last_block_all_threads.cu - all threads of the last block add, as in NVIDIA's sample */
// rung: grid=6 block=64 x=f32[384] partial=f32[6]:none counter=u32[1]:zero sum=f32[1]:none
__device__ float block_sum(float value)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = value;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    float result = s[0];
    __syncthreads();
    return result;
}
__global__ void sum_all(const float *x, volatile float *partial, unsigned *counter, float *sum)
{
    __shared__ bool am_last;
    float mine = block_sum(x[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = mine;
        __threadfence();
        unsigned ticket = atomicInc(counter, gridDim.x);
        am_last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (am_last) {
        float total = block_sum(threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0) {
            *sum = total;
            *counter = 0;
        }
    }
}
