/* SPDX-License-Identifier: Apache-2.0 */
/* 07_tile2d - MR x NR sums in registers, an outer product at each step of k.
 *
 * Removes  most of the loads of 06_tile1d: MR elements of A and NR of B, once in
 *          registers, serve MR*NR multiply-adds. And NR elements of a cache line of B
 *          are used where 06 used one.
 * Leaves   one instruction for each multiply and each addition (see 08).
 * Watch    rung bench --device cpu --kernels 06,07 --dtype f32,f16
 *
 * It pays where a load is dear: of F16, which is widened each time it is loaded, and by
 * columns. Of F32 by rows it is no faster than 06 on a processor with two units for
 * arithmetic, which were both at work already: what is saved shows in 08, whose
 * arithmetic is wider and whose tile is this one. 12 sums, three elements of B and one
 * of A are 16 registers, all that x86-64 has.
 */
#include "cpu/kernels/finish.h"

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
#error "a block has at least one element, and at most 2^20 sums"
#endif
#if BM % MR != 0 || BN % NR != 0
#error "BM is a multiple of MR, which is 4, and BN of NR, which is 3"
#endif

/* Sums (i, j) and on below and beside it, of which the block has at least one. */
static void add_tile(const rungi_cpu_job *block, int64_t i, int64_t j, sum_t *sums, int64_t bn)
{
    const in_t *a = block->a.first, *b = block->b.first;
    int64_t row[MR], col[NR];
    sum_t sum[MR][NR], b_part[NR];
    for (int r = 0; r < MR; r++)
        row[r] = at(block->a, rungi_smaller(i + r, block->m - 1), 0);
    for (int c = 0; c < NR; c++)
        col[c] = at(block->b, 0, rungi_smaller(j + c, block->n - 1));
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < NR; c++)
            sum[r][c] = sums[(i + r) * bn + j + c];
    for (int64_t p = 0; p < block->k; p++) {
        for (int c = 0; c < NR; c++)
            b_part[c] = widen(b[at(block->b, p, 0) + col[c]]);
        for (int r = 0; r < MR; r++) {
            const sum_t a_value = widen(a[row[r] + at(block->a, 0, p)]);
            for (int c = 0; c < NR; c++)
                sum[r][c] += a_value * b_part[c];
        }
    }
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < NR; c++)
            sums[(i + r) * bn + j + c] = sum[r][c];
}

static void add(const rungi_cpu_job *block, sum_t *sums, int64_t bn)
{
    for (int64_t i = 0; i < block->m; i += MR)
        for (int64_t j = 0; j < block->n; j += NR)
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

TYPED_KERNEL(07_tile2d) = {.run = run, .settle = settle};
