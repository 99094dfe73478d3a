/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_in_branch - wrong: public shapes, hidden shapes, no wrong accesses, no races, barriers reached by all, coalesced accesses, no bank conflicts, few atomic operations, occupancy; found: barrier */
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
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
            __syncthreads();
        }
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, partial[0]);
}
