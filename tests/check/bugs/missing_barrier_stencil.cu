/* SPDX-License-Identifier: Apache-2.0 */
/* missing_barrier_stencil.cu - no barrier after the halo load */
// rung: grid=(n+127)/128 block=128 in=f32[n+2*3] out=f32[n]:none n=500
#define RADIUS 3
#define BLOCK 128
__global__ void stencil1d(const float *in, float *out, int n)
{
    __shared__ float tile[BLOCK + 2 * RADIUS];
    int g = blockIdx.x * BLOCK + threadIdx.x;
    int l = threadIdx.x + RADIUS;
    tile[l] = g < n + RADIUS ? in[g + RADIUS] : 0.0f; // BUG race
    if (threadIdx.x < RADIUS) {
        tile[l - RADIUS] = in[g]; // BUG race
        tile[l + BLOCK] = g + BLOCK + RADIUS < n + 2 * RADIUS ? in[g + BLOCK + RADIUS] : 0.0f; // BUG race
    }
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += tile[l + k]; // BUG race
    if (g < n)
        out[g] = sum;
}
