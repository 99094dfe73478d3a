/* SPDX-License-Identifier: Apache-2.0 */
/* 02_coalesced - adjacent threads handle adjacent columns. */
#include "dialect.h"

#define BLOCK 32
#define BM BLOCK
#define BN BLOCK

KERNEL(BLOCK * BLOCK)
learn_02_coalesced(index_t m, index_t n, index_t k,
                   sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                   GLOBAL const in_t *__restrict__ b, view_t b_view,
                   sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + threadIdx.x / BLOCK;
    const index_t col = (index_t)block_col * BN + threadIdx.x % BLOCK;
    if (row >= m || col >= n)
        return;

    sum_t sum = 0;
    for (index_t i = 0; i < k; i++)
        sum += widen(a[at(a_view, row, i)]) * widen(b[at(b_view, i, col)]);
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
