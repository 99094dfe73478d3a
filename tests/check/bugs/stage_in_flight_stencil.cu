/* SPDX-License-Identifier: Apache-2.0 */
/* stage_in_flight_stencil.cu - the border is stored to the buffer while the copy is in flight */
// rung: grid=1 block=64 x=f32[64] y=f32[64]:none
#include <cuda_pipeline.h>
__global__ void stencil(const float *x, float *y)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], x + t, 4); // BUG async-copy race
    __pipeline_commit();
    if (t == 0 || t == 63)
        tile[t] = 0.0f; // BUG async-copy race
    __pipeline_wait_prior(0);
    __syncthreads();
    y[t] = tile[t > 0 ? t - 1 : 0] + tile[t] + tile[t < 63 ? t + 1 : 63];
}
