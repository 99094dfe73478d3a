/* SPDX-License-Identifier: Apache-2.0 */
/* copy_without_wait_attention.cu - K is waited for, V is not */
// rung: grid=1 block=64 q=f32[64*16] k=f32[64*16] v=f32[64*16] out=f32[64*16]:none
#include <cuda_pipeline.h>
__global__ void attention(const float *q, const float *k, const float *v, float *out)
{
    __shared__ __align__(16) float ks[64][16], vs[64][16];
    int t = threadIdx.x;
    for (int j = 0; j < 4; j++)
        __pipeline_memcpy_async(&ks[t][4 * j], &k[t * 16 + 4 * j], 16);
    __pipeline_commit();
    for (int j = 0; j < 4; j++)
        __pipeline_memcpy_async(&vs[t][4 * j], &v[t * 16 + 4 * j], 16); // BUG async-copy
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float best = -3.4e38f, total = 0.0f, sum[16] = {};
    for (int j = 0; j < 64; j++) {
        float score = 0.0f;
        for (int d = 0; d < 16; d++)
            score += q[t * 16 + d] * ks[j][d];
        float next = fmaxf(best, score), old = __expf(best - next), p = __expf(score - next);
        total = total * old + p;
        for (int d = 0; d < 16; d++)
            sum[d] = sum[d] * old + p * vs[j][d]; // BUG async-copy
        best = next;
    }
    for (int d = 0; d < 16; d++)
        out[t * 16 + d] = sum[d] / total;
}
