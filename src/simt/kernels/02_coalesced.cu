/* SPDX-License-Identifier: Apache-2.0 */
/* 02_coalesced - one thread per element of C; adjacent threads handle adjacent columns.
 *
 * Removes  the uncoalesced loads of 01_naive. A warp now reads one element of A, which
 *          its threads share, and 32 adjacent elements of B.
 * Leaves   the memory traffic. Every thread still loads a whole row of A and a whole
 *          column of B from global memory (see 04).
 * Try      rung verify --device opencl --kernels 02 --params UNROLL=1
 *
 * The only difference from 01 is which thread owns which element: `%` and `/` are
 * exchanged. UNROLL is the number of loop steps per iteration. Unrolling gains little
 * here, because the kernel waits for memory.
 * The parameter exists to show that.
 */
#include "dialect.h"

#ifndef BLOCK
#define BLOCK 32 // 8 16 32
#endif
#ifndef UNROLL
#define UNROLL 4 // 1 2 4 8
#endif
// preset tiny: BLOCK=8
// preset plain: BLOCK=32,UNROLL=1

#if BLOCK < 1 || BLOCK * BLOCK > 1024
#error "BLOCK*BLOCK threads must fit a block of 1024"
#endif
#if UNROLL < 1 || UNROLL > 64
#error "UNROLL must be 1 to 64"
#endif

#define BM BLOCK
#define BN BLOCK

KERNEL(BLOCK * BLOCK)
rung_02_coalesced(index_t m, index_t n, index_t k,
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
    index_t i = 0;
    for (; i + UNROLL <= k; i += UNROLL)
        for (uint step = 0; step < UNROLL; step++)
            sum += widen(a[at(a_view, row, i + step)]) * widen(b[at(b_view, i + step, col)]);
    for (; i < k; i++)
        sum += widen(a[at(a_view, row, i)]) * widen(b[at(b_view, i, col)]);
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
