/* SPDX-License-Identifier: Apache-2.0 */
/* tf32 - a thread an element, factors rounded to 11 bits.
 *
 * What tensor cores do to F32, without tensor cores: a kernel of a caller's that computes
 * in less and says so, for compute_modes.sh. Without the line that says so it must be found. */
#include "dialect.h"

// takes: f32
// computes: tf32

#ifndef BLOCK
#define BLOCK 16 // 8 16
#endif

#define BM BLOCK
#define BN BLOCK

/* To the nearest, to even on a tie; a NaN must not be rounded to something else. */
DEVICE float tf32_of(float value)
{
    const uint bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return value;
    return bits_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

KERNEL(BLOCK * BLOCK)
tf32(index_t m, index_t n, index_t k,
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
    for (index_t i = 0; i < k; i++)
        sum += tf32_of(a[at(a_view, row, i)]) * tf32_of(b[at(b_view, i, col)]);
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
