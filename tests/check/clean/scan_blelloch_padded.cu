/* SPDX-License-Identifier: Apache-2.0 */
/* scan_blelloch_padded.cu - indices with padding against bank conflicts */
// rung: grid=1 block=64 x=f32[128] y=f32[128]:none
#define PAD(i) ((i) + ((i) >> 5))
__global__ void exclusive_scan(const float *x, float *y)
{
    __shared__ float temp[128 + 4];
    int t = threadIdx.x, offset = 1;
    temp[PAD(t)] = x[t];
    temp[PAD(t + 64)] = x[t + 64];
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d)
            temp[PAD(offset * (2 * t + 2) - 1)] += temp[PAD(offset * (2 * t + 1) - 1)];
        offset *= 2;
    }
    if (t == 0)
        temp[PAD(127)] = 0.0f;
    for (int d = 1; d < 128; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = PAD(offset * (2 * t + 1) - 1), b = PAD(offset * (2 * t + 2) - 1);
            float swap = temp[a];
            temp[a] = temp[b];
            temp[b] += swap;
        }
    }
    __syncthreads();
    y[t] = temp[PAD(t)];
    y[t + 64] = temp[PAD(t + 64)];
}
