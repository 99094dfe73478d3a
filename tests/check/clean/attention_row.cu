/* SPDX-License-Identifier: Apache-2.0 */
/* attention_row.cu - one thread per query, online softmax */
// rung: grid=1 block=32 q=f32[32*8] k=f32[40*8] v=f32[40*8] out=f32[32*8]:none keys=40
__global__ void attention(const float *q, const float *k, const float *v, float *out, int keys)
{
    float best = -3.4e38f, total = 0.0f, sum[8] = {};
    for (int j = 0; j < keys; j++) {
        float score = 0.0f;
        for (int d = 0; d < 8; d++)
            score += q[threadIdx.x * 8 + d] * k[j * 8 + d];
        float next = fmaxf(best, score), old = __expf(best - next), p = __expf(score - next);
        total = total * old + p;
        for (int d = 0; d < 8; d++)
            sum[d] = sum[d] * old + p * v[j * 8 + d];
        best = next;
    }
    for (int d = 0; d < 8; d++)
        out[threadIdx.x * 8 + d] = sum[d] / total;
}
