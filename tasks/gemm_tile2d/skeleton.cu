/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - GEMM 6: an outer product in registers. Try it: rung grade gemm_tile2d FILE */
#define TILE 64
#define BK 16
// rung: grid=(n+TILE-1)/TILE,(m+TILE-1)/TILE block=256

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[TILE][BK], b_tile[BK][TILE];
    /* TODO: each of 256 threads computes 4 x 4 elements of a tile of 64 x 64. In each step, load four
     * elements of A and four of B from shared memory, and add their 16 products. */
}
