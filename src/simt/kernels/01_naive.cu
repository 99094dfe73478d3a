/* SPDX-License-Identifier: Apache-2.0 */
/* 01_naive - a thread an element, neighbours down a column.
 *
 * Removes  nothing: it is where the ladder begins.
 * Leaves   loads that do not coalesce. Neighbouring threads own neighbouring rows,
 *          so at each step a warp reads 32 places of A that lie a whole row apart:
 *          32 transactions where one could serve (see 02).
 * Watch    rung verify --device opencl --kernels 01
 *
 * Every element of A is loaded n times and every element of B m times, each time
 * from global memory.
 */
#include "dialect.h"

#ifndef BLOCK
#define BLOCK 16 // 8 16 32
#endif
// preset tiny: BLOCK=8
// preset block32: BLOCK=32

#if BLOCK < 1 || BLOCK * BLOCK > 1024
#error "BLOCK*BLOCK threads must fit a block of 1024"
#endif

#define BM BLOCK
#define BN BLOCK

KERNEL(BLOCK * BLOCK)
rung_01_naive(index_t m, index_t n, index_t k,
              sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
              GLOBAL const in_t *__restrict__ b, view_t b_view,
              sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    /* One-dimensional grid: CUDA stops at 65,535 blocks in y. */
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + threadIdx.x % BLOCK;
    const index_t col = (index_t)block_col * BN + threadIdx.x / BLOCK;
    if (row >= m || col >= n)
        return;

    sum_t sum = 0;
    for (index_t i = 0; i < k; i++)
        sum += widen(a[at(a_view, row, i)]) * widen(b[at(b_view, i, col)]);
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
