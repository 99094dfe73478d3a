/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - GEMM 3: tiles in shared memory. Try it: rung grade gemm_tiled FILE */
// rung: grid=(n+31)/32,(m+31)/32 block=32,32

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[32][32], b_tile[32][32];
    /* TODO: for each tile of 32 columns of a and 32 rows of b: load both tiles, one element per
     * thread, with zeros beyond the matrices; wait; add 32 products; wait. */
}
