/* SPDX-License-Identifier: Apache-2.0 */
/* attention_scores-warp_per_row - One warp computes a row: the scores are in shared memory, the sums in registers. */
// rung: grid=n block=32 shared=4*n

__device__ float add_lanes(float value)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}

__global__ void attention_scores(const float *q, const float *k, float *p, float factor, int n, int d)
{
    extern __shared__ float score[];
    const int row = blockIdx.x, lane = threadIdx.x;
    float top = -INFINITY, total = 0;
    for (int col = 0; col <= row; col++) {
        float part = 0;
        for (int i = lane; i < d; i += 32)
            part = fmaf(q[row * d + i], k[col * d + i], part);
        part = factor * add_lanes(part);
        if (lane == 0)
            score[col] = part;
        top = fmaxf(top, part);
    }
    __syncwarp();
    for (int col = lane; col <= row; col += 32)
        total += expf(score[col] - top);
    total = add_lanes(total);
    for (int col = lane; col < n; col += 32)
        p[row * n + col] = col > row ? 0 : expf(score[col] - top) / total;
}
