/* SPDX-License-Identifier: Apache-2.0 */
/* too_many_threads - a mistake to be found: a block of 64 x 32 threads, where CUDA takes 1,024. */
#include "dialect.h"

#define WIDE 64
#define HIGH 32
#define BM HIGH
#define BN WIDE

KERNEL(WIDE * HIGH)
too_many_threads(index_t m, index_t n, index_t k,
                 sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                 GLOBAL const in_t *__restrict__ b, view_t b_view,
                 sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + threadIdx.x / WIDE;
    const index_t col = (index_t)block_col * BN + threadIdx.x % WIDE;
    if (row >= m || col >= n)
        return;

    sum_t sum = 0;
    for (index_t i = 0; i < k; i++)
        sum += widen(a[at(a_view, row, i)]) * widen(b[at(b_view, i, col)]);
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
