/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_local_filter.cu - the window of the last elements is incomplete */
// rung: grid=1 block=64 x=f32[n] y=f32[n]:none n=64 radius=2
__global__ void median(const float *x, float *y, int n, int radius)
{
    float window[9];
    int i = threadIdx.x;
    for (int k = -radius; k <= radius; k++)
        if (i + k >= 0 && i + k < n)
            window[k + radius] = x[i + k];
    int size = 2 * radius + 1;
    for (int a = 0; a < size; a++)
        for (int b = a + 1; b < size; b++)
            if (window[b] < window[a]) { // BUG uninitialized
                float swap = window[a];
                window[a] = window[b];
                window[b] = swap;
            }
    y[i] = window[radius];
}
