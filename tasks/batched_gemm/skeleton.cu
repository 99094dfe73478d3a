/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - Batched GEMM: many small matrix products. Try it: rung grade batched_gemm FILE */
// rung: grid=batch block=32,32

__global__ void batched_gemm(const float *a, const float *b, float *c, int batch, int n)
{
    /* TODO: c = a * b for each of the `batch` pairs of n x n matrices, which are stored by rows, one
     * after another. n is at most 32. */
}
