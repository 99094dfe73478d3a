/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_shared_convolution.cu - the corners of the tile are not loaded */
// rung: grid=2,2 block=16,16 in=f32[34*34] out=f32[32*32]:none
__global__ void box3(const float *in, float *out)
{
    __shared__ float tile[18][18];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    tile[ty + 1][tx + 1] = in[(y + 1) * 34 + x + 1];
    if (tx == 0)
        tile[ty + 1][0] = in[(y + 1) * 34 + x];
    if (tx == 15)
        tile[ty + 1][17] = in[(y + 1) * 34 + x + 2];
    if (ty == 0)
        tile[0][tx + 1] = in[y * 34 + x + 1];
    if (ty == 15)
        tile[17][tx + 1] = in[(y + 2) * 34 + x + 1];
    __syncthreads();
    float sum = 0.0f;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            sum += tile[ty + dy][tx + dx]; // BUG uninitialized
    out[y * 32 + x] = sum;
}
