/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_swizzled.cu - an exclusive-or swizzle instead of padding */
// rung: grid=2,2 block=32,8 in=i32[64*64] out=i32[64*64]:none
__global__ void transpose(const int *in, int *out)
{
    __shared__ int tile[32][32];
    int tx = threadIdx.x;
    for (int ty = threadIdx.y; ty < 32; ty += 8)
        tile[ty][tx ^ ty] = in[(blockIdx.y * 32 + ty) * 64 + blockIdx.x * 32 + tx];
    __syncthreads();
    for (int ty = threadIdx.y; ty < 32; ty += 8)
        out[(blockIdx.x * 32 + ty) * 64 + blockIdx.y * 32 + tx] = tile[tx][ty ^ tx];
}
