/* SPDX-License-Identifier: Apache-2.0 */
/* stencil_2d.cu - five points, borders are copied */
// rung: grid=(w+15)/16,(h+15)/16 block=16,16 in=f32[w*h] out=f32[w*h]:none w=40 h=30
__global__ void jacobi(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h)
        return;
    int at = y * w + x;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1)
        out[at] = in[at];
    else
        out[at] = 0.25f * (in[at - 1] + in[at + 1] + in[at - w] + in[at + w]);
}
