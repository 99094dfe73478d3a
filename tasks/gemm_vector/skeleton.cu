/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - GEMM 7: vector loads. Try it: rung grade gemm_vector FILE */
#define TILE 64
#define BK 16
// rung: grid=(n+TILE-1)/TILE,(m+TILE-1)/TILE block=256

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ __align__(16) float a_tile[BK][TILE + 4], b_tile[BK][TILE];
    /* TODO: load and store four adjacent elements at once: *(const float4 *)&b[...]. m, n and k are
     * multiples of 4. The tile of A is transposed, so that the four elements of a thread are adjacent. */
}
