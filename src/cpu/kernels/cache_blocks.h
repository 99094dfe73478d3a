/* SPDX-License-Identifier: Apache-2.0 */
/* cache_blocks.h - the loops over cache blocks that 04_shared introduces and 06 to 08 use again. */
#ifndef RUNGI_CPU_CACHE_BLOCKS_H
#define RUNGI_CPU_CACHE_BLOCKS_H

#include "cpu/kernels/typed_epilogue.h"

/* Adds the product of a block of A and a block of B to `sums`, which has rows of `bn` elements. */
typedef void accumulate_function(const rungi_cpu_job *block, sum_t *sums, int64_t bn);

/* Computes C block by block. The first three parameters of the kernel are BM, BN and BK. */
static inline __attribute__((always_inline)) void run_cache_blocks(const rungi_cpu_job *job,
                                                                   accumulate_function *accumulate_block)
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

#endif /* RUNGI_CPU_CACHE_BLOCKS_H */
