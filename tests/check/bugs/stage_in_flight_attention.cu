/* SPDX-License-Identifier: Apache-2.0 */
/* stage_in_flight_attention.cu - the K tile is refilled before all scores are computed */
// rung: grid=1 block=32 q=f32[32*8] k=f32[128*8] out=f32[32]:none
#include <cuda_pipeline.h>
__global__ void max_score(const float *q, const float *k, float *out)
{
    __shared__ __align__(16) float ks[32][8];
    int t = threadIdx.x;
    float best = -3.4e38f;
    __pipeline_memcpy_async(&ks[t][0], k + t * 8, 16);
    __pipeline_memcpy_async(&ks[t][4], k + t * 8 + 4, 16);
    __pipeline_commit();
    for (int tile = 0; tile < 4; tile++) {
        __pipeline_wait_prior(0);
        __syncthreads();
        for (int j = 0; j < 32; j++) {
            float score = 0.0f;
            for (int d = 0; d < 8; d++)
                score += q[t * 8 + d] * ks[j][d]; // BUG race async-copy
            best = fmaxf(best, score);
        }
        if (tile < 3) {
            __pipeline_memcpy_async(&ks[t][0], k + (tile + 1) * 256 + t * 8, 16); // BUG race async-copy
            __pipeline_memcpy_async(&ks[t][4], k + (tile + 1) * 256 + t * 8 + 4, 16); // BUG race async-copy
            __pipeline_commit();
        }
    }
    out[t] = best;
}
