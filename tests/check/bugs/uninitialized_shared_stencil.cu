/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_shared_stencil.cu - the right halo is not loaded */
// rung: grid=n/128 block=128 x=f32[n+4] y=f32[n]:none n=512
#define R 2
__global__ void stencil(const float *x, float *y, int n)
{
    __shared__ float tile[128 + 2 * R];
    int i = blockIdx.x * 128 + threadIdx.x;
    tile[threadIdx.x + R] = x[i + R];
    if (threadIdx.x < R)
        tile[threadIdx.x] = x[i];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k <= 2 * R; k++)
        sum += tile[threadIdx.x + k]; // BUG uninitialized
    y[i] = sum;
}
