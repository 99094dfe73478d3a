/* SPDX-License-Identifier: Apache-2.0 */
/* cache_blocks.h - the loops over cache blocks that 04_shared introduces and 06 to 08 use again. */
#pragma once

#include "cpu/kernels/typed_epilogue.h"

/* Adds the product of a block of A and a block of B to `sums`, which has rows of `bn` elements. Each kernel defines it. */
static void accumulate_block(const rungi_cpu_job *block, sum_t *sums, int64_t bn);

/* Computes C block by block. The first three parameters of the kernel are BM, BN and BK. */
static void run_cache_blocks(const rungi_cpu_job *job)
{
    const int64_t bm = job->parameters[0], bn = job->parameters[1], bk = job->parameters[2];
    sum_t *sums = (sum_t *)job->scratch;
    for (int64_t i = 0; i < job->m; i += bm)
        for (int64_t j = 0; j < job->n; j += bn) {
            memset(sums, 0, (size_t)(bm * bn) * sizeof(sum_t));
            for (int64_t p = 0; p < job->k; p += bk) {
                const rungi_cpu_job block = block_of(job, i, j, p, bm, bn, bk);
                accumulate_block(&block, sums, bn);
            }
            epilogue_store_block(job, i, j, bm, bn, sums);
        }
}

/* Requests scratch for the BM x BN sums of a block of C. */
static rung_status configure_cache_blocks(const rungi_cpu_job *job, rung_compute compute,
                                          rungi_cpu_kernel_config *config)
{
    (void)compute;
    config->scratch = job->parameters[0] * job->parameters[1] * (int64_t)sizeof(sum_t);
    return RUNG_OK;
}
