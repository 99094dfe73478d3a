/* SPDX-License-Identifier: Apache-2.0 */
/* copy_without_barrier_matrix_vector.cu - the tile of x is shared by all warps */
// rung: grid=2 block=128 a=f32[8*128] x=f32[128] y=f32[8]:none
#include <cuda_pipeline.h>
__global__ void gemv(const float *a, const float *x, float *y)
{
    __shared__ __align__(16) float xs[128];
    int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
    if (threadIdx.x < 32)
        __pipeline_memcpy_async(&xs[4 * lane], x + 4 * lane, 16); // BUG race
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    float sum = 0.0f;
    for (int j = lane; j < 128; j += 32)
        sum += a[row * 128 + j] * xs[j]; // BUG race
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
        y[row] = sum;
}
