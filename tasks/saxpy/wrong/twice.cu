/* SPDX-License-Identifier: Apache-2.0 */
/* twice - wrong: no races; found: race */
// rung: grid=(n+255)/256 block=256

__global__ void saxpy(float factor, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? factor * x[i] + y[i] : 0;
    if (i < n)
        y[i] = value;
    if (i + 1 < n && threadIdx.x % 256 == 255)
        y[i + 1] += 0 * factor; // "prefetch" for the next block
}
