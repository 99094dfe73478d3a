/* SPDX-License-Identifier: Apache-2.0 */
/* copy_without_wait_transpose.cu - wait_group 1 with only one group */
// rung: grid=1 block=64 in=f32[256] out=f32[256]:none
#include <cuda_pipeline.h>
__global__ void transpose(const float *in, float *out)
{
    __shared__ __align__(16) float tile[16][16];
    int r = threadIdx.x / 4, q = 4 * (threadIdx.x % 4);
    __pipeline_memcpy_async(&tile[r][q], &in[r * 16 + q], 16); // BUG async-copy
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int j = 0; j < 4; j++)
        out[r * 16 + q + j] = tile[q + j][r]; // BUG async-copy
}
