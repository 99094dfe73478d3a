/* SPDX-License-Identifier: Apache-2.0 */
/* 04_shared - cache blocks: read a block once, use it BM times.
 *
 * Removes  the traffic of 02_coalesced, where all of B came by for every row of C.
 *          A block of B, BK x BN, is small enough to stay in the cache while BM rows
 *          of C use it, and so are the sums of a block of C.
 * Leaves   a load and a store of the sum for each multiply-add: nothing is kept in
 *          registers (see 06).
 * Watch    rung bench --device cpu --kernels 02,04 --sizes 512,1024,2048
 *
 * Within a block the loops are those of 02. What shared memory is to a GPU the cache is
 * here, but nobody has to fill it. That is why this step is small where matrices stand
 * by rows: a processor sees that 02 walks along memory and fetches ahead of it, faster
 * than one number at a time is multiplied. Where B stands by columns it is the big
 * step. And 06 to 08, which ask more of the cache, stand on its blocks:
 * rung bench --device cpu --kernels 06 --params BK=64,4096 --sizes 1024
 */
#include "cpu/kernels/finish.h"

#ifndef BM
#define BM 32 // 16 32 64
#endif
#ifndef BN
#define BN 512 // 128 256 512
#endif
#ifndef BK
#define BK 32 // 16 32 64
#endif
// preset tiny: BM=8,BN=8,BK=4

#if BM < 1 || BN < 1 || BK < 1 || BM * BN > 1048576
#error "a block has at least one element, and at most 2^20 sums"
#endif

static void add(const rungi_cpu_job *block, sum_t *sums, int64_t bn)
{
    const in_t *a = block->a.first, *b = block->b.first;
    for (int64_t i = 0; i < block->m; i++)
        for (int64_t p = 0; p < block->k; p++) {
            const sum_t a_value = widen(a[at(block->a, i, p)]);
            for (int64_t j = 0; j < block->n; j++)
                sums[i * bn + j] += a_value * widen(b[at(block->b, p, j)]);
        }
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

TYPED_KERNEL(04_shared) = {.run = run, .settle = settle};
