/* SPDX-License-Identifier: Apache-2.0 */
/* 01_naive - one thread per element of C; adjacent threads handle adjacent rows.
 *
 * Removes  nothing. This is the first step of the ladder.
 * Leaves   uncoalesced loads. The 32 threads of a warp own 32 adjacent rows, so each
 *          load of A touches 32 addresses that are a whole row apart: 32 memory
 *          transactions instead of one (see 02).
 * Try      rung verify --device opencl --kernels 01
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
    /* The grid is one-dimensional because CUDA allows only 65,535 blocks in y. */
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
