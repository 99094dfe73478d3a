/* SPDX-License-Identifier: Apache-2.0 */
/* copy_without_barrier_stencil.cu - neighbours are read before a barrier */
// rung: grid=2 block=64 x=f32[130] y=f32[128]:none
#include <cuda_pipeline.h>
__global__ void difference(const float *x, float *y)
{
    __shared__ float tile[65];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    __pipeline_memcpy_async(&tile[t], x + i, 4); // BUG race
    if (t == 0)
        __pipeline_memcpy_async(&tile[64], x + i + 64, 4); // BUG race
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[i] = tile[t + 1] - tile[t]; // BUG race
}
