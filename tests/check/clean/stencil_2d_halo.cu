/* SPDX-License-Identifier: Apache-2.0 */
/* stencil_2d_halo.cu - a tile with halo and corners */
// rung: grid=2,2 block=16,16 in=f32[34*34] out=f32[32*32]:none
__global__ void box3(const float *in, float *out)
{
    __shared__ float tile[18][18];
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256)
        tile[i / 18][i % 18] = in[(blockIdx.y * 16 + i / 18) * 34 + blockIdx.x * 16 + i % 18];
    __syncthreads();
    float sum = 0.0f;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            sum += tile[threadIdx.y + dy][threadIdx.x + dx];
    out[(blockIdx.y * 16 + threadIdx.y) * 32 + blockIdx.x * 16 + threadIdx.x] = sum;
}
