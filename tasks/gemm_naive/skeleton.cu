/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - GEMM 1: one thread per element of C. Try it: rung grade gemm_naive FILE */
// rung: grid=(n+31)/32,(m+7)/8 block=32,8

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    /* TODO: c = a * b. a is m x k, b is k x n, c is m x n; all are stored by rows. */
}
