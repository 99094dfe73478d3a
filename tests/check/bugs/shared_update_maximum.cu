/* SPDX-License-Identifier: Apache-2.0 */
/* shared_update_maximum.cu - every thread writes a shared maximum */
// rung: grid=2 block=128 x=f32[256] best=f32[2]:none
__global__ void block_max(const float *x, float *best)
{
    __shared__ float largest;
    if (threadIdx.x == 0)
        largest = -1.0f;
    __syncthreads();
    float value = x[blockIdx.x * 128 + threadIdx.x];
    if (value > largest) // BUG race
        largest = value; // BUG race
    __syncthreads();
    if (threadIdx.x == 0)
        best[blockIdx.x] = largest;
}
