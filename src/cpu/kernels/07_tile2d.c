/* SPDX-License-Identifier: Apache-2.0 */
/* 07_tile2d - a register tile of MR x NR sums: one outer product per step of k.
 *
 * Removes  most loads of 06_tile1d: MR elements of A and NR elements of B in registers serve MR * NR multiply-adds.
 *          NR elements of each cache line of B are used where 06 uses one.
 * Leaves   one instruction per multiply and one per addition (see 08).
 * Watch    rung bench --device cpu --kernels 06,07 --dtype f32,f16
 *
 * The tile pays where loads are expensive: F16, which is converted at each load, and column-major matrices. For
 * row-major F32 it is no faster than 06 on a processor with two arithmetic units, because 06 keeps both busy. The
 * saved loads pay in 08, which computes faster with the same tile. 12 sums, three elements of B and one of A take 16
 * registers, all that x86-64 has.
 */
#include "cpu/kernels/cache_blocks.h"

#ifndef BM
#define BM 64 // 32 64 128
#endif
#ifndef BN
#define BN 96 // 48 96 192
#endif
#ifndef BK
#define BK 64 // 32 64 128
#endif
// preset tiny: BM=8,BN=6,BK=4

#define MR 4
#define NR 3

#if BM < 1 || BN < 1 || BK < 1 || BM * BN > 1048576
#error "BM, BN and BK must be at least 1, and BM * BN at most 2^20"
#endif
#if BM % MR != 0 || BN % NR != 0
#error "BM must be a multiple of 4 (MR) and BN of 3 (NR)"
#endif

/* Adds to the MR x NR tile of sums whose first element is (i, j). At least that element is inside the block. */
static void accumulate_tile(const rungi_cpu_job *block, int64_t i, int64_t j, sum_t *sums, int64_t bn)
{
    const in_t *a = block->a.first, *b = block->b.first;
    int64_t row[MR], col[NR];
    sum_t sum[MR][NR], b_fragment[NR];
    for (int r = 0; r < MR; r++)
        row[r] = element_offset(block->a, rungi_min(i + r, block->m - 1), 0);
    for (int c = 0; c < NR; c++)
        col[c] = element_offset(block->b, 0, rungi_min(j + c, block->n - 1));
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < NR; c++)
            sum[r][c] = sums[(i + r) * bn + j + c];
    for (int64_t p = 0; p < block->k; p++) {
        for (int c = 0; c < NR; c++)
            b_fragment[c] = widen(b[element_offset(block->b, p, 0) + col[c]]);
        for (int r = 0; r < MR; r++) {
            const sum_t a_value = widen(a[row[r] + element_offset(block->a, 0, p)]);
            for (int c = 0; c < NR; c++)
                sum[r][c] += a_value * b_fragment[c];
        }
    }
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < NR; c++)
            sums[(i + r) * bn + j + c] = sum[r][c];
}

static void accumulate_block(const rungi_cpu_job *block, sum_t *sums, int64_t bn)
{
    for (int64_t i = 0; i < block->m; i += MR)
        for (int64_t j = 0; j < block->n; j += NR)
            accumulate_tile(block, i, j, sums, bn);
}

TYPED_KERNEL(07_tile2d) = {.run = run_cache_blocks, .configure = configure_cache_blocks};
