/* SPDX-License-Identifier: Apache-2.0 */
/* stencil_1d_halo.cu - a tile with a halo of three elements */
// rung: grid=(n+127)/128 block=128 in=f32[n+6] out=f32[n]:none n=500
#define R 3
__global__ void stencil(const float *in, float *out, int n)
{
    __shared__ float tile[128 + 2 * R];
    int g = blockIdx.x * 128 + threadIdx.x;
    for (int i = threadIdx.x; i < 128 + 2 * R; i += 128) {
        int from = blockIdx.x * 128 + i;
        tile[i] = from < n + 2 * R ? in[from] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k <= 2 * R; k++)
        sum += tile[threadIdx.x + k];
    if (g < n)
        out[g] = sum;
}
