/* SPDX-License-Identifier: Apache-2.0 */
/* copy_without_wait_gemm.cu - the tiles are read after the commit */
// rung: grid=n/16,m/16 block=64 a=f32[m*k] b=f32[k*n] c=f32[m*n]:none m=32 n=32 k=32
#include <cuda_pipeline.h>
__global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ __align__(16) float as[16][16], bs[16][16];
    int r = threadIdx.x / 4, q = 4 * (threadIdx.x % 4), row0 = blockIdx.y * 16, col0 = blockIdx.x * 16;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int t = 0; t < k; t += 16) {
        __pipeline_memcpy_async(&as[r][q], &a[(row0 + r) * k + t + q], 16); // BUG async-copy
        __pipeline_memcpy_async(&bs[r][q], &b[(t + r) * n + col0 + q], 16); // BUG async-copy
        __pipeline_commit();
        __syncthreads();
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 4; j++)
                sums[j] += as[r][i] * bs[i][q + j]; // BUG async-copy
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        c[(row0 + r) * n + col0 + q + j] = sums[j];
}
