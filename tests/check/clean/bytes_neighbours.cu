/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_neighbours.cu - neighbouring bytes of one word are written by different threads */
// rung: grid=2 block=64 x=u8[128] y=u8[128]:none
__global__ void invert(const unsigned char *x, unsigned char *y)
{
    __shared__ unsigned char tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = 255 - x[i];
    __syncthreads();
    y[i] = tile[63 - threadIdx.x];
}
