/* SPDX-License-Identifier: Apache-2.0 */
/* column - for the microscope's test: a tile is written along its rows and read down its
 * columns, padded or not. */
#include "dialect.h"

#ifndef PAD
#define PAD 0 // 0 1
#endif

#define BM 32
#define BN 1

KERNEL(32)
column(index_t m, index_t n, index_t k,
       sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
       GLOBAL const in_t *__restrict__ b, view_t b_view,
       sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    __shared__ in_t tile[32][32 + PAD];

    const index_t row0 = (index_t)(blockIdx.x / (uint)n) * BM;
    const index_t col = blockIdx.x - blockIdx.x / (uint)n * (uint)n;
    const uint lane = threadIdx.x;
    sum_t sum = 0;
    for (index_t k0 = 0; k0 < k; k0 += 32) {
        for (uint i = 0; i < 32; i++)
            tile[i][lane] = load_or_zero(a, a_view, row0 + i, k0 + lane, m, k);
        __syncthreads();
        for (uint i = 0; i < 32; i++) {
            const sum_t x = widen(tile[lane][i]); /* down a column */
            sum += x * widen(load_or_zero(b, b_view, k0 + i, col, k, n));
        }
        __syncthreads();
    }
    if (row0 + lane < m)
        store(&c[at(c_view, row0 + lane, col)], alpha, sum, beta);
}
