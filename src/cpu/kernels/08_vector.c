/* SPDX-License-Identifier: Apache-2.0 */
/* 08_vector - the tile of 07 by SIMD: a multiply-add of a whole vector at once.
 *
 * Removes  the instruction for each multiply and each addition of 07_tile2d: one
 *          instruction multiplies and adds 8 numbers with AVX2, 16 with AVX-512.
 *          There are more and wider registers too, and the tile grows with them.
 * Leaves   operands as the caller stores them (see 09). The rows of a tile of A and
 *          the lines of B lie a whole row apart, and where that is a power of two they
 *          compete for the same places of the cache. Where B stands by columns, its
 *          vectors are put together element by element.
 * Watch    RUNG_CPU_ISA=avx2 rung bench --device cpu --kernels 07,08
 *
 * A tile is MR x NR, 14 x 32 in AVX-512, 6 x 16 in AVX2 and 6 x 8 elsewhere (simd.h); of F64
 * half as wide. At the right edge vectors are loaded in part.
 */
#include "cpu/kernels/finish.h"
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
#error "a block has at least one element, and at most 2^20 sums"
#endif
#if BM % 42 != 0 || BN % 32 != 0
#error "BM is a multiple of 42, which tiles of 6 and of 14 rows fill, and BN of 32"
#endif

/* How the NR columns of B stand that a tile reads. */
typedef enum b_form { WHOLE, PARTLY, SPREAD } b_form_t;

static inline vec_t load_b(const rungi_cpu_job *block, const in_t *from, int64_t count, b_form_t form)
{
    if (form == WHOLE)
        return load(from);
    count = count < 0 ? 0 : rungi_smaller(count, LANES);
    return form == PARTLY ? load_some(from, count) : load_spread(from, block->b.col_stride, count);
}

/* Sums (i, j) and on below and beside it, of which the block has at least one. */
static inline __attribute__((always_inline)) void add_tile(const rungi_cpu_job *block, int64_t i, int64_t j,
                                                           sum_t *sums, int64_t bn, b_form_t form)
{
    const in_t *a = block->a.first, *b = (const in_t *)block->b.first + at(block->b, 0, j);
    const int64_t cols = block->n - j;
    int64_t row[MR];
    vec_t sum[MR][2];
    for (int r = 0; r < MR; r++)
        row[r] = at(block->a, rungi_smaller(i + r, block->m - 1), 0);
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < 2; c++)
            sum[r][c] = load_sums(sums + (i + r) * bn + j + c * LANES);
    for (int64_t p = 0; p < block->k; p++) {
        const vec_t b_0 = load_b(block, b + at(block->b, p, 0), cols, form);
        const vec_t b_1 = load_b(block, b + at(block->b, p, LANES), cols - LANES, form);
#pragma GCC unroll 16
        for (int r = 0; r < MR; r++) {
            const sum_t a_value = widen_one(a[row[r] + at(block->a, 0, p)]);
            sum[r][0] += a_value * b_0;
            sum[r][1] += a_value * b_1;
        }
    }
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < 2; c++)
            store_sums(sums + (i + r) * bn + j + c * LANES, sum[r][c]);
}

static void add(const rungi_cpu_job *block, sum_t *sums, int64_t bn)
{
    const bool is_spread = block->b.col_stride != 1;
    for (int64_t j = 0; j < block->n; j += NR)
        for (int64_t i = 0; i < block->m; i += MR)
            if (is_spread)
                add_tile(block, i, j, sums, bn, SPREAD);
            else if (block->n - j < NR)
                add_tile(block, i, j, sums, bn, PARTLY);
            else
                add_tile(block, i, j, sums, bn, WHOLE);
}

static void run(const rungi_cpu_job *job)
{
    const int64_t bm = job->parameters[0], bn = job->parameters[1], bk = job->parameters[2];
    sum_t *sums = (sum_t *)job->scratch;
    for (int64_t i = 0; i < job->m; i += bm)
        for (int64_t j = 0; j < job->n; j += bn) {
            memset(sums, 0, (size_t)(bm * bn) * sizeof(sum_t));
            for (int64_t p = 0; p < job->k; p += bk) {
                const rungi_cpu_job block = block_of(job, i, j, p, bm, bn, bk);
                add(&block, sums, bn);
            }
            finish_block(job, i, j, bm, bn, sums);
        }
}

static rung_status settle(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form)
{
    (void)compute;
    form->scratch = job->parameters[0] * job->parameters[1] * (int64_t)sizeof(sum_t);
    return RUNG_OK;
}

TYPED_KERNEL(08_vector) = {.run = run, .settle = settle};
