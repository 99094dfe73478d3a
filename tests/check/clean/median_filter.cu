/* SPDX-License-Identifier: Apache-2.0 */
/* median_filter.cu - a window in local memory */
// rung: grid=2 block=32 x=f32[64] y=f32[64]:none n=64 radius=2
__global__ void median(const float *x, float *y, int n, int radius)
{
    float window[9];
    int i = blockIdx.x * 32 + threadIdx.x, size = 0;
    for (int k = -radius; k <= radius; k++)
        if (i + k >= 0 && i + k < n)
            window[size++] = x[i + k];
    for (int a = 0; a < size; a++)
        for (int b = a + 1; b < size; b++)
            if (window[b] < window[a]) {
                float swap = window[a];
                window[a] = window[b];
                window[b] = swap;
            }
    y[i] = window[size / 2];
}
