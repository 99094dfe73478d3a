/* SPDX-License-Identifier: Apache-2.0 */
/* missing_syncwarp_transpose.cu - a tile of 32 x 32 by one warp */
// rung: grid=2 block=32 in=f32[2048] out=f32[2048]:none
__global__ void transpose(const float *in, float *out)
{
    __shared__ float tile[32][33];
    int lane = threadIdx.x, base = blockIdx.x * 1024;
    for (int row = 0; row < 32; row++)
        tile[row][lane] = in[base + row * 32 + lane]; // BUG race
    for (int row = 0; row < 32; row++)
        out[base + row * 32 + lane] = tile[lane][row]; // BUG race
}
