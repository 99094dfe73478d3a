/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_padded.cu - a tile with one column of padding */
// rung: grid=2,2 block=16,16 in=f64[32*32] out=f64[32*32]:none
__global__ void transpose(const double *in, double *out)
{
    __shared__ double tile[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = in[(blockIdx.y * 16 + ty) * 32 + blockIdx.x * 16 + tx];
    __syncthreads();
    out[(blockIdx.x * 16 + ty) * 32 + blockIdx.y * 16 + tx] = tile[tx][ty];
}
