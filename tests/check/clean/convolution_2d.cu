/* SPDX-License-Identifier: Apache-2.0 */
/* convolution_2d.cu - clamped borders */
// rung: grid=(w+15)/16,(h+15)/16 block=16,16 in=f32[w*h] weights=f32[9] out=f32[w*h]:none w=35 h=21
__global__ void conv3(const float *in, const float *weights, float *out, int w, int h)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int xx = min(max(x + dx, 0), w - 1), yy = min(max(y + dy, 0), h - 1);
            sum += weights[(dy + 1) * 3 + dx + 1] * in[yy * w + xx];
        }
    out[y * w + x] = sum;
}
