/* SPDX-License-Identifier: Apache-2.0 */
/* vector_alignment_async_copy.cu - 16-byte asynchronous copies of rows of 18 floats */
// rung: grid=1 block=64 x=f32[16*18] y=f32[16*16]:none
#include <cuda_pipeline.h>
__global__ void load_rows(const float *x, float *y)
{
    __shared__ __align__(16) float tile[16][16];
    int row = threadIdx.x / 4, part = threadIdx.x % 4;
    __pipeline_memcpy_async(&tile[row][4 * part], x + row * 18 + 4 * part, 16); // BUG misaligned
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 64)
        y[i] = tile[i / 16][i % 16];
}
