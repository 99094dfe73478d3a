/* SPDX-License-Identifier: Apache-2.0 */
/* 06_tile1d - a register tile of MR x 1 sums.
 *
 * Removes  the load and the store of a sum per multiply-add in 04_shared: MR sums of one column of C stay in registers
 *          for all steps of a block. Each loaded element of B is used by MR multiply-adds.
 * Leaves   one load of A per multiply-add (see 07), and strided reads of B again, though inside a block that is in
 *          the cache.
 * Watch    rung bench --device cpu --kernels 04,06
 *
 * Below the last row of A, the last row is read again. Those sums are never stored, and no inner loop needs a bounds
 * check.
 */
#include "cpu/kernels/cache_blocks.h"

#ifndef BM
#define BM 64 // 32 64 128
#endif
#ifndef BN
#define BN 128 // 64 128 256
#endif
#ifndef BK
#define BK 64 // 32 64 128
#endif
// preset tiny: BM=8,BN=8,BK=4

#define MR 8

#if BM < 1 || BN < 1 || BK < 1 || BM * BN > 1048576
#error "BM, BN and BK must be at least 1, and BM * BN at most 2^20"
#endif
#if BM % MR != 0
#error "BM must be a multiple of 8 (MR)"
#endif

/* Adds to the MR x 1 tile of sums whose first element is (i, j). At least that element is inside the block. */
static void accumulate_tile(const rungi_cpu_job *block, int64_t i, int64_t j, sum_t *sums, int64_t bn)
{
    const in_t *a = block->a.first, *b = block->b.first;
    int64_t row[MR];
    sum_t sum[MR];
    for (int r = 0; r < MR; r++) {
        row[r] = element_offset(block->a, rungi_min(i + r, block->m - 1), 0);
        sum[r] = sums[(i + r) * bn + j];
    }
    for (int64_t p = 0; p < block->k; p++) {
        const sum_t b_value = widen(b[element_offset(block->b, p, j)]);
        for (int r = 0; r < MR; r++)
            sum[r] += widen(a[row[r] + element_offset(block->a, 0, p)]) * b_value;
    }
    for (int r = 0; r < MR; r++)
        sums[(i + r) * bn + j] = sum[r];
}

static void accumulate_block(const rungi_cpu_job *block, sum_t *sums, int64_t bn)
{
    for (int64_t i = 0; i < block->m; i += MR)
        for (int64_t j = 0; j < block->n; j++)
            accumulate_tile(block, i, j, sums, bn);
}

TYPED_KERNEL(06_tile1d) = {.run = run_cache_blocks, .configure = configure_cache_blocks};
