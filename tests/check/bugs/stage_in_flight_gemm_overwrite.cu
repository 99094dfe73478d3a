/* SPDX-License-Identifier: Apache-2.0 */
/* stage_in_flight_gemm_overwrite.cu - the next copy goes to the stage that other threads still read */
// rung: grid=2 block=64 a=f32[32*k] b=f32[k*16] c=f32[32*16]:none k=64
#include <cuda_pipeline.h>
__global__ void sgemm(const float *a, const float *b, float *c, int k)
{
    __shared__ __align__(16) float as[2][16][16], bs[2][16][16];
    int r = threadIdx.x / 4, q = 4 * (threadIdx.x % 4), row0 = blockIdx.x * 16, tiles = k / 16;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int t = 0; t < 2; t++) {
        __pipeline_memcpy_async(&as[t][r][q], &a[(row0 + r) * k + t * 16 + q], 16);
        __pipeline_memcpy_async(&bs[t][r][q], &b[(t * 16 + r) * 16 + q], 16);
        __pipeline_commit();
    }
    for (int t = 0; t < tiles; t++) {
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 4; j++)
                sums[j] += as[t % 2][r][i] * bs[t % 2][i][q + j]; // BUG race async-copy
        if (t + 2 < tiles) {
            __pipeline_memcpy_async(&as[t % 2][r][q], &a[(row0 + r) * k + (t + 2) * 16 + q], 16); // BUG race async-copy
            __pipeline_memcpy_async(&bs[t % 2][r][q], &b[((t + 2) * 16 + r) * 16 + q], 16); // BUG race async-copy
        }
        __pipeline_commit();
    }
    for (int j = 0; j < 4; j++)
        c[(row0 + r) * 16 + q + j] = sums[j];
}
