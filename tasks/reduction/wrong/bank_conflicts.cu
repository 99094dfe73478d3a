/* SPDX-License-Identifier: Apache-2.0 */
/* bank_conflicts - wrong: no bank conflicts */
#define BLOCK 256
// rung: grid=(n+1023)/1024 block=BLOCK

__global__ void reduce_sum(const float *x, float *sum, int n)
{
    __shared__ float partial[BLOCK];
    float own = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        own += x[i];
    partial[threadIdx.x] = own;
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        int first = 2 * step * threadIdx.x;
        if (first < BLOCK)
            partial[first] += partial[first + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, partial[0]);
}
