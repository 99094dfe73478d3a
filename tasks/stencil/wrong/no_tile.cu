/* SPDX-License-Identifier: Apache-2.0 */
/* no_tile - wrong: memory traffic */
// rung: grid=(width+31)/32,(height+7)/8 block=32,8

__global__ void stencil(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = in[y * width + x];
    sum += x > 0 ? in[y * width + x - 1] : 0;
    sum += x + 1 < width ? in[y * width + x + 1] : 0;
    sum += y > 0 ? in[(y - 1) * width + x] : 0;
    sum += y + 1 < height ? in[(y + 1) * width + x] : 0;
    out[y * width + x] = 0.2f * sum;
}
