/* SPDX-License-Identifier: Apache-2.0 */
/* 08_vector - the register tile of 07 with SIMD: one instruction multiplies and adds a whole vector.
 *
 * Removes  the separate instructions per multiply and addition of 07_tile2d: one instruction multiplies and adds 8
 *          F32 elements with AVX2 and 16 with AVX-512. The registers are also more numerous, so the tile is larger.
 * Leaves   operands in the caller's layout (see 09). Rows of A and of B lie a leading dimension apart; if that is a
 *          power of two, they compete for the same cache sets. Vectors of a column-major B are gathered element by
 *          element.
 * Watch    RUNG_CPU_ISA=avx2 rung bench --device cpu --kernels 07,08
 *
 * A tile is MR x NR: 14 x 32 with AVX-512, 6 x 16 with AVX2 and 6 x 8 otherwise (simd.h); half as wide for F64.
 * Vectors at the right edge are loaded partially.
 */
#include "cpu/kernels/cache_blocks.h"
#include "cpu/kernels/simd.h"

#ifndef BM
#define BM 84 // 42 84 168
#endif
#ifndef BN
#define BN 128 // 64 128 256
#endif
#ifndef BK
#define BK 128 // 64 128 256
#endif
// preset tiny: BM=42,BN=32,BK=4

#if BM < 1 || BN < 1 || BK < 1 || BM * BN > 1048576
#error "BM, BN and BK must be at least 1, and BM * BN at most 2^20"
#endif
#if BM % 42 != 0 || BN % 32 != 0
#error "BM must be a multiple of 42 (tiles have 6 or 14 rows) and BN of 32"
#endif

/* How the NR columns of B that a tile reads lie in memory. */
typedef enum b_access { B_CONTIGUOUS, B_PARTIAL, B_STRIDED } b_access_t;

/* Loads up to LANES elements of a row of B. The constant `access` selects one branch at compile time. */
static inline vec_t load_b(const rungi_cpu_job *block, const in_t *from, int64_t count, b_access_t access)
{
    if (access == B_CONTIGUOUS)
        return load(from);
    count = count < 0 ? 0 : rungi_min(count, LANES);
    return access == B_PARTIAL ? load_partial(from, count) : load_strided(from, block->b.col_stride, count);
}

/* Adds to the MR x NR tile of sums whose first element is (i, j). At least that element is inside the block. */
static inline __attribute__((always_inline)) void accumulate_tile(const rungi_cpu_job *block, int64_t i, int64_t j,
                                                                  sum_t *sums, int64_t bn, b_access_t access)
{
    const in_t *a = block->a.first, *b = (const in_t *)block->b.first + element_offset(block->b, 0, j);
    const int64_t cols = block->n - j;
    int64_t row[MR];
    vec_t sum[MR][2];
    for (int r = 0; r < MR; r++)
        row[r] = element_offset(block->a, rungi_min(i + r, block->m - 1), 0);
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < 2; c++)
            sum[r][c] = load_sums(sums + (i + r) * bn + j + c * LANES);
    for (int64_t p = 0; p < block->k; p++) {
        const vec_t b_0 = load_b(block, b + element_offset(block->b, p, 0), cols, access);
        const vec_t b_1 = load_b(block, b + element_offset(block->b, p, LANES), cols - LANES, access);
#pragma GCC unroll 16
        for (int r = 0; r < MR; r++) {
            const sum_t a_value = widen_scalar(a[row[r] + element_offset(block->a, 0, p)]);
            sum[r][0] += a_value * b_0;
            sum[r][1] += a_value * b_1;
        }
    }
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < 2; c++)
            store_sums(sums + (i + r) * bn + j + c * LANES, sum[r][c]);
}

static void accumulate_block(const rungi_cpu_job *block, sum_t *sums, int64_t bn)
{
    const bool is_strided = block->b.col_stride != 1;
    for (int64_t j = 0; j < block->n; j += NR)
        for (int64_t i = 0; i < block->m; i += MR)
            if (is_strided)
                accumulate_tile(block, i, j, sums, bn, B_STRIDED);
            else if (block->n - j < NR)
                accumulate_tile(block, i, j, sums, bn, B_PARTIAL);
            else
                accumulate_tile(block, i, j, sums, bn, B_CONTIGUOUS);
}

TYPED_KERNEL(08_vector) = {.run = run_cache_blocks, .configure = configure_cache_blocks};
