/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - GEMM 5: several elements per thread. Try it: rung grade gemm_tile1d FILE */
// rung: grid=(n+31)/32,(m+31)/32 block=32,8

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    /* TODO: each thread computes four elements of a column of C, 8 rows apart, and uses each element
     * of the tile of B four times. Start from your kernel of gemm_tiled. */
}
