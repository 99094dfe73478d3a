/* SPDX-License-Identifier: Apache-2.0 */
/* 02_coalesced - i-k-j: each row of C is a sum of rows of B.
 *
 * Removes  the strided reads of B in 01_naive. Each element of A is multiplied by a whole row of B: the inner loop
 *          reads memory in order, uses every element of a cache line, and its additions are independent.
 * Leaves   memory traffic: all of B is read again for every row of C (see 04), and every multiply-add loads and
 *          stores its sum (see 06).
 * Watch    rung bench --device cpu --kernels 01,02
 *
 * Only the order of the loops differs from 01. The sums of a row are kept in scratch memory, because the type of C may
 * be too narrow for them.
 */
#include "cpu/kernels/typed_epilogue.h"

static void run(const rungi_cpu_job *job)
{
    const in_t *a = job->a.first, *b = job->b.first;
    sum_t *sums = (sum_t *)job->scratch;
    for (int64_t i = 0; i < job->m; i++) {
        for (int64_t j = 0; j < job->n; j++)
            sums[j] = 0;
        for (int64_t p = 0; p < job->k; p++) {
            const sum_t a_value = widen(a[element_offset(job->a, i, p)]);
            for (int64_t j = 0; j < job->n; j++)
                sums[j] += a_value * widen(b[element_offset(job->b, p, j)]);
        }
        epilogue_store_row(job, i, 0, job->n, sums);
    }
}

static rung_status configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    (void)compute;
    if (job->n > (INT64_MAX >> 8))
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "02_coalesced: n is %lld; the maximum is 2^55, because the sums of one row of C are kept in memory",
            (long long)job->n);
    config->scratch = job->n * (int64_t)sizeof(sum_t);
    return RUNG_OK;
}

TYPED_KERNEL(02_coalesced) = {.run = run, .configure = configure};
