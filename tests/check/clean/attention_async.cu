/* SPDX-License-Identifier: Apache-2.0 */
/* attention_async.cu - K is copied while V is in flight */
// rung: grid=1 block=64 q=f32[64*16] k=f32[64*16] v=f32[64*16] out=f32[64*16]:none
#include <cuda_pipeline.h>
__global__ void attention(const float *q, const float *k, const float *v, float *out)
{
    __shared__ __align__(16) float ks[64][16], vs[64][16];
    __shared__ float scores[64][65];
    int t = threadIdx.x;
    for (int j = 0; j < 4; j++)
        __pipeline_memcpy_async(&ks[t][4 * j], &k[t * 16 + 4 * j], 16);
    __pipeline_commit();
    for (int j = 0; j < 4; j++)
        __pipeline_memcpy_async(&vs[t][4 * j], &v[t * 16 + 4 * j], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float best = -3.4e38f, total = 0.0f;
    for (int j = 0; j < 64; j++) {
        float score = 0.0f;
        for (int d = 0; d < 16; d++)
            score += q[t * 16 + d] * ks[j][d];
        scores[t][j] = score;
        best = fmaxf(best, score);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    float sum[16] = {};
    for (int j = 0; j < 64; j++) {
        float p = __expf(scores[t][j] - best);
        total += p;
        for (int d = 0; d < 16; d++)
            sum[d] += p * vs[j][d];
    }
    for (int d = 0; d < 16; d++)
        out[t * 16 + d] = sum[d] / total;
}
