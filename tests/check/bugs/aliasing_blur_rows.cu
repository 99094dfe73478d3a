/* SPDX-License-Identifier: Apache-2.0 */
/* aliasing_blur_rows.cu - the rows of the output overlap, because the pitch is less than the width */
// rung: grid=4 block=64 in=f32[4*64] out=f32[4*64]:none pitch=60
__global__ void blur_rows(const float *in, float *out, int pitch)
{
    int x = threadIdx.x, y = blockIdx.x;
    float left = in[y * 64 + (x > 0 ? x - 1 : 0)], right = in[y * 64 + (x < 63 ? x + 1 : 63)];
    out[y * pitch + x] = 0.5f * (left + right); // BUG race
}
