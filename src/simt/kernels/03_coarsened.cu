/* SPDX-License-Identifier: Apache-2.0 */
/* 03_coarsened - several columns per thread without shared memory. A negative result.
 *
 * Removes  no bottleneck of 02_coalesced. Each loaded element of A serves COLUMNS
 *          products instead of one, but in 02 the cache already provided that reuse.
 * Leaves   worse loads of B. The columns of a thread are adjacent, so adjacent threads
 *          read elements that are COLUMNS apart. Each load of a warp needs COLUMNS times
 *          as many transactions, and COLUMNS times fewer warps hide the latency. A warp
 *          computes part of one row, as in 02, so the stride is the only difference.
 * Try      rung bench --kernels 02,03 --params COLUMNS=1,4
 *
 * The kernel stays in the ladder because more work per thread is the right idea. It
 * pays once the operands are in shared memory (see 06).
 */
#include "dialect.h"

#ifndef BLOCK
#define BLOCK 32 // 8 16 32
#endif
#ifndef COLUMNS
#define COLUMNS 4 // 1 2 4 8
#endif
// preset tiny: BLOCK=8,COLUMNS=2

#if BLOCK < 1 || BLOCK * BLOCK > 1024
#error "BLOCK*BLOCK threads must fit a block of 1024"
#endif
#if COLUMNS < 1 || COLUMNS > 16
#error "COLUMNS must be 1 to 16"
#endif

#define BM BLOCK
#define BN (BLOCK * COLUMNS)

KERNEL(BLOCK * BLOCK)
rung_03_coarsened(index_t m, index_t n, index_t k,
                  sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                  GLOBAL const in_t *__restrict__ b, view_t b_view,
                  sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + threadIdx.x / BLOCK;
    const index_t col = (index_t)block_col * BN + threadIdx.x % BLOCK * COLUMNS;
    if (row >= m)
        return;

    sum_t sum[COLUMNS];
#pragma unroll
    for (uint j = 0; j < COLUMNS; j++)
        sum[j] = 0;
    for (index_t i = 0; i < k; i++) {
        const sum_t a_value = widen(a[at(a_view, row, i)]);
#pragma unroll
        for (uint j = 0; j < COLUMNS; j++)
            if (col + j < n)
                sum[j] += a_value * widen(b[at(b_view, i, col + j)]);
    }
#pragma unroll
    for (uint j = 0; j < COLUMNS; j++)
        if (col + j < n)
            store(&c[at(c_view, row, col + j)], alpha, sum[j], beta);
}
