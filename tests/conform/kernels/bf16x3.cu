/* SPDX-License-Identifier: Apache-2.0 */
/* bf16x3 - a thread an element, factors as sums of three BF16 each.
 *
 * Six of the nine products of their parts make up a product of F32; the three that are
 * left out are below its last place. A kernel of a caller's that computes in less and says
 * so, for compute_modes.sh. Without the line that says so it must be found. */
#include "dialect.h"

// takes: f32
// computes: bf16x3

#ifndef BLOCK
#define BLOCK 16 // 8 16
#endif

#define BM BLOCK
#define BN BLOCK

typedef struct {
    float high, middle, low;
} parts_t;

/* What a part leaves is exact in F32. An infinity leaves a NaN. */
DEVICE parts_t parts_of(float value)
{
    parts_t parts;
    parts.high = float_of_bf16(bf16_of_float(value));
    parts.middle = float_of_bf16(bf16_of_float(value - parts.high));
    parts.low = float_of_bf16(bf16_of_float(value - parts.high - parts.middle));
    return parts;
}

KERNEL(BLOCK * BLOCK)
bf16x3(index_t m, index_t n, index_t k,
       sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
       GLOBAL const in_t *__restrict__ b, view_t b_view,
       sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + threadIdx.x % BLOCK;
    const index_t col = (index_t)block_col * BN + threadIdx.x / BLOCK;
    if (row >= m || col >= n)
        return;

    sum_t sum = 0;
    for (index_t i = 0; i < k; i++) {
        const parts_t x = parts_of(a[at(a_view, row, i)]), y = parts_of(b[at(b_view, i, col)]);
        sum += x.high * y.low;
        sum += x.middle * y.middle;
        sum += x.low * y.high;
        sum += x.high * y.middle;
        sum += x.middle * y.high;
        sum += x.high * y.high;
    }
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
