/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_shuffle.cu - 4 x 4 by shuffles */
// rung: grid=1 block=32 in=f32[128] out=f32[128]:none
__global__ void transpose4(const float *in, float *out)
{
    int lane = threadIdx.x, row = lane % 4, group = lane / 4 * 4;
    float v[4], w[4];
    for (int i = 0; i < 4; i++)
        v[i] = in[lane * 4 + i];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            float other = __shfl_sync(0xffffffffu, v[j], group + i);
            if (j == row)
                w[i] = other;
        }
    for (int i = 0; i < 4; i++)
        out[lane * 4 + i] = w[i];
}
