/* SPDX-License-Identifier: Apache-2.0 */
/* convolution_bytes.cu - an image of bytes */
// rung: grid=2,2 block=16,16 in=u8[34*34] out=u8[32*32]:none
__global__ void blur(const unsigned char *in, unsigned char *out)
{
    __shared__ unsigned char tile[18][20];
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256)
        tile[i / 18][i % 18] = in[(blockIdx.y * 16 + i / 18) * 34 + blockIdx.x * 16 + i % 18];
    __syncthreads();
    int sum = 0;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            sum += tile[threadIdx.y + dy][threadIdx.x + dx];
    out[(blockIdx.y * 16 + threadIdx.y) * 32 + blockIdx.x * 16 + threadIdx.x] = (unsigned char)(sum / 9);
}
