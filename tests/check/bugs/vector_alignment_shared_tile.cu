/* SPDX-License-Identifier: Apache-2.0 */
/* vector_alignment_shared_tile.cu - float4 stores to a tile of 33 columns */
// rung: grid=1 block=8,32 in=f32[32*32] out=f32[32*32]:none
__global__ void transpose32(const float *in, float *out)
{
    __shared__ __align__(16) float tile[32][33];
    float4 v = reinterpret_cast<const float4 *>(in)[threadIdx.y * 8 + threadIdx.x];
    *reinterpret_cast<float4 *>(&tile[threadIdx.y][4 * threadIdx.x]) = v; // BUG misaligned
    __syncthreads();
    for (int i = 0; i < 4; i++)
        out[threadIdx.y * 32 + 4 * threadIdx.x + i] = tile[4 * threadIdx.x + i][threadIdx.y];
}
