/* SPDX-License-Identifier: Apache-2.0 */
/* copy_without_barrier_convolution.cu - the barrier comes before the wait */
// rung: grid=2 block=64 in=f32[132] weights=f32[5] out=f32[128]:none
#include <cuda_pipeline.h>
__global__ void conv(const float *in, const float *weights, float *out)
{
    __shared__ float tile[68];
    int t = threadIdx.x, x = blockIdx.x * 64 + t;
    __pipeline_memcpy_async(&tile[t], in + x, 4); // BUG race
    if (t < 4)
        __pipeline_memcpy_async(&tile[t + 64], in + x + 64, 4); // BUG race
    __pipeline_commit();
    __syncthreads();
    __pipeline_wait_prior(0);
    float sum = 0.0f;
    for (int k = 0; k < 5; k++)
        sum += weights[k] * tile[t + k]; // BUG race
    out[x] = sum;
}
