/* SPDX-License-Identifier: Apache-2.0 */
/* fft_radix2.cu - butterflies in shared memory */
// rung: grid=1 block=32 x=f32[128] y=f32[128]:none
__global__ void fft64(const float2 *x, float2 *y)
{
    __shared__ float2 s[64];
    int t = threadIdx.x;
    for (int i = t; i < 64; i += 32)
        s[__brev((unsigned)i) >> 26] = x[i];
    __syncthreads();
    for (int half = 1; half < 64; half *= 2) {
        int k = t % half, i = t / half * 2 * half + k;
        float sine, cosine;
        __sincosf(-3.14159265f * k / half, &sine, &cosine);
        float2 a = s[i], b = s[i + half];
        float2 w = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
        s[i] = make_float2(a.x + w.x, a.y + w.y);
        s[i + half] = make_float2(a.x - w.x, a.y - w.y);
        __syncthreads();
    }
    for (int i = t; i < 64; i += 32)
        y[i] = s[i];
}
