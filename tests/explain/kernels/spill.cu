/* SPDX-License-Identifier: Apache-2.0 */
/* spill.cu - a kernel that cannot keep its sums in registers: 81 of them in each of 1,024
 * threads, which have 64 registers. For tests of who tells so, and of which line. */
#include "dialect.h"

#ifndef SIDE
#define SIDE 9 // 2 9
#endif

#define BM (32 * SIDE)
#define BN (32 * SIDE)

KERNEL(1024)
spill(index_t m, index_t n, index_t k,
      sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
      GLOBAL const in_t *__restrict__ b, view_t b_view,
      sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const index_t row = (index_t)block_row * BM + threadIdx.x / 32 * SIDE;
    const index_t col = (index_t)(blockIdx.x - block_row * blocks_across) * BN + threadIdx.x % 32 * SIDE;
    sum_t sum[SIDE * SIDE];
#pragma unroll
    for (uint i = 0; i < SIDE * SIDE; i++)
        sum[i] = 0;
    for (index_t p = 0; p < k; p++) {
#pragma unroll
        for (uint i = 0; i < SIDE * SIDE; i++)
            if (row + i / SIDE < m && col + i % SIDE < n)
                sum[i] += widen(a[at(a_view, row + i / SIDE, p)]) * widen(b[at(b_view, p, col + i % SIDE)]); /* here */
    }
#pragma unroll
    for (uint i = 0; i < SIDE * SIDE; i++)
        if (row + i / SIDE < m && col + i % SIDE < n)
            store(&c[at(c_view, row + i / SIDE, col + i % SIDE)], alpha, sum[i], beta);
}
