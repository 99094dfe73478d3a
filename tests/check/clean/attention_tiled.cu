/* SPDX-License-Identifier: Apache-2.0 */
/* attention_tiled.cu - tiles of K and V in shared memory */
// rung: grid=2 block=32 q=f32[64*16] k=f32[64*16] v=f32[64*16] out=f32[64*16]:none
__global__ void attention(const float *q, const float *k, const float *v, float *out)
{
    __shared__ float ks[32][17], vs[32][17];
    int t = threadIdx.x, row = blockIdx.x * 32 + t;
    float best = -3.4e38f, total = 0.0f, sum[16] = {}, mine[16];
    for (int d = 0; d < 16; d++)
        mine[d] = q[row * 16 + d] * 0.25f;
    for (int tile = 0; tile < 2; tile++) {
        for (int i = t; i < 512; i += 32) {
            ks[i / 16][i % 16] = k[tile * 512 + i];
            vs[i / 16][i % 16] = v[tile * 512 + i];
        }
        __syncthreads();
        for (int j = 0; j < 32; j++) {
            float score = 0.0f;
            for (int d = 0; d < 16; d++)
                score += mine[d] * ks[j][d];
            float next = fmaxf(best, score), old = __expf(best - next), p = __expf(score - next);
            total = total * old + p;
            for (int d = 0; d < 16; d++)
                sum[d] = sum[d] * old + p * vs[j][d];
            best = next;
        }
        __syncthreads();
    }
    for (int d = 0; d < 16; d++)
        out[row * 16 + d] = sum[d] / total;
}
