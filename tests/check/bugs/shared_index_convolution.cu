/* SPDX-License-Identifier: Apache-2.0 */
/* shared_index_convolution.cu - the tile has a halo of one row, the filter needs two */
// rung: grid=2,2 block=16,16 in=f32[36*36] weights=f32[25] out=f32[32*32]:none
__global__ void conv5(const float *in, const float *weights, float *out)
{
    __shared__ float tile[18][20];
    for (int j = threadIdx.y; j < 20; j += 16)
        for (int i = threadIdx.x; i < 20; i += 16)
            tile[j][i] = in[(blockIdx.y * 16 + j) * 36 + blockIdx.x * 16 + i]; // BUG out-of-bounds
    __syncthreads();
    float sum = 0.0f;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += weights[dy * 5 + dx] * tile[threadIdx.y + dy][threadIdx.x + dx]; // BUG out-of-bounds
    out[(blockIdx.y * 16 + threadIdx.y) * 32 + blockIdx.x * 16 + threadIdx.x] = sum;
}
