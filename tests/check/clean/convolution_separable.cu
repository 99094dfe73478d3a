/* SPDX-License-Identifier: Apache-2.0 */
/* convolution_separable.cu - rows, then columns */
// rung: kernel=rows grid=24 block=64 in=f32[64*24] mid=f32[64*24]:none
// rung: kernel=columns grid=h block=64 mid=f32[64*h]:none out=f32[64*h]:none h=24
__global__ void rows(const float *in, float *mid)
{
    __shared__ float row[66];
    int x = threadIdx.x, y = blockIdx.x;
    row[x + 1] = in[y * 64 + x];
    if (x == 0)
        row[0] = row[65] = 0.0f;
    __syncthreads();
    mid[y * 64 + x] = 0.25f * row[x] + 0.5f * row[x + 1] + 0.25f * row[x + 2];
}
__global__ void columns(const float *mid, float *out, int h)
{
    int x = threadIdx.x, y = blockIdx.x;
    float above = y > 0 ? mid[(y - 1) * 64 + x] : 0.0f, below = y < h - 1 ? mid[(y + 1) * 64 + x] : 0.0f;
    out[y * 64 + x] = 0.25f * above + 0.5f * mid[y * 64 + x] + 0.25f * below;
}
