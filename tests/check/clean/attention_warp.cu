/* SPDX-License-Identifier: Apache-2.0 */
/* attention_warp.cu - one query per warp */
// rung: grid=2 block=64 q=f32[4*32] k=f32[10*32] v=f32[10*32] out=f32[4*32]:none keys=10
__global__ void attention(const float *q, const float *k, const float *v, float *out, int keys)
{
    int lane = threadIdx.x % 32, row = (blockIdx.x * 64 + threadIdx.x) / 32;
    float mine = q[row * 32 + lane], best = -3.4e38f, total = 0.0f, sum = 0.0f;
    for (int j = 0; j < keys; j++) {
        float score = mine * k[j * 32 + lane];
        for (int d = 16; d > 0; d /= 2)
            score += __shfl_xor_sync(0xffffffffu, score, d);
        float next = fmaxf(best, score), old = __expf(best - next), p = __expf(score - next);
        total = total * old + p;
        sum = sum * old + p * v[j * 32 + lane];
        best = next;
    }
    out[row * 32 + lane] = sum / total;
}
