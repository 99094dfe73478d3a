/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_read_convolution.cu - no clamp at the lower border of the image */
// rung: grid=(w+15)/16,(h+15)/16 block=16,16 in=f32[w*h] out=f32[w*h]:none w=40 h=36
__global__ void box3(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int xx = min(max(x + dx, 0), w - 1), yy = max(y + dy, 0);
            sum += in[yy * w + xx]; // BUG out-of-bounds
        }
    out[y * w + x] = sum / 9.0f;
}
