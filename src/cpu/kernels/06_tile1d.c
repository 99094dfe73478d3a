/* SPDX-License-Identifier: Apache-2.0 */
/* 06_tile1d - MR sums in registers, one below the other.
 *
 * Removes  the load and the store of the sum that each multiply-add of 04_shared came
 *          with: MR sums of a column of C stay in registers through all steps of a
 *          block. An element of B, once loaded, serves MR multiply-adds.
 * Leaves   a load of A for each multiply-add (see 07), and again a walk down the
 *          columns of B, though within a block that the cache holds.
 * Watch    rung bench --device cpu --kernels 04,06
 *
 * Of rows behind the last the last is read once more: their sums are never stored, and
 * no loop has to know where the matrix ends.
 */
#include "cpu/kernels/finish.h"

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
#error "a block has at least one element, and at most 2^20 sums"
#endif
#if BM % MR != 0
#error "BM is a multiple of MR, which is 8"
#endif

/* Sums (i, j) and on below it, of which the block has at least one. */
static void add_tile(const rungi_cpu_job *block, int64_t i, int64_t j, sum_t *sums, int64_t bn)
{
    const in_t *a = block->a.first, *b = block->b.first;
    int64_t row[MR];
    sum_t sum[MR];
    for (int r = 0; r < MR; r++) {
        row[r] = at(block->a, rungi_smaller(i + r, block->m - 1), 0);
        sum[r] = sums[(i + r) * bn + j];
    }
    for (int64_t p = 0; p < block->k; p++) {
        const sum_t b_value = widen(b[at(block->b, p, j)]);
        for (int r = 0; r < MR; r++)
            sum[r] += widen(a[row[r] + at(block->a, 0, p)]) * b_value;
    }
    for (int r = 0; r < MR; r++)
        sums[(i + r) * bn + j] = sum[r];
}

static void add(const rungi_cpu_job *block, sum_t *sums, int64_t bn)
{
    for (int64_t i = 0; i < block->m; i += MR)
        for (int64_t j = 0; j < block->n; j++)
            add_tile(block, i, j, sums, bn);
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

TYPED_KERNEL(06_tile1d) = {.run = run, .settle = settle};
