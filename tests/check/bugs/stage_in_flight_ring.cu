/* SPDX-License-Identifier: Apache-2.0 */
/* stage_in_flight_ring.cu - three stages, but the index is taken modulo 2 */
// rung: grid=1 block=64 x=f32[64*8] y=f32[64]:none
#include <cuda_pipeline.h>
__global__ void sum_tiles(const float *x, float *y)
{
    __shared__ float ring[3][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int s = 0; s < 2; s++) {
        __pipeline_memcpy_async(&ring[s][t], x + s * 64 + t, 4);
        __pipeline_commit();
    }
    for (int s = 0; s < 8; s++) {
        if (s + 2 < 8)
            __pipeline_memcpy_async(&ring[(s + 2) % 2][t], x + (s + 2) * 64 + t, 4); // BUG async-copy
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        sum += ring[s % 2][63 - t]; // BUG async-copy
        __syncthreads();
    }
    y[t] = sum;
}
