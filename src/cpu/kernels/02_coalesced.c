/* SPDX-License-Identifier: Apache-2.0 */
/* 02_coalesced - i-k-j: a row of C is made of rows of B.
 *
 * Removes  the walk down the columns of B of 01_naive. An element of A is multiplied
 *          by a whole row of B, so that memory is walked along, a cache line is used
 *          to its end, and no addition waits for the one before it.
 * Leaves   the traffic: all of B comes by once for every row of C (see 04), and
 *          every multiply-add loads and stores its sum (see 06).
 * Watch    rung bench --device cpu --kernels 01,02
 *
 * The only change to 01 is the order of the loops. The sums of a row wait in memory
 * of their own, since C's type may be too narrow for them.
 */
#include "cpu/kernels/finish.h"

static void run(const rungi_cpu_job *job)
{
    const in_t *a = job->a.first, *b = job->b.first;
    sum_t *sums = (sum_t *)job->scratch;
    for (int64_t i = 0; i < job->m; i++) {
        for (int64_t j = 0; j < job->n; j++)
            sums[j] = 0;
        for (int64_t p = 0; p < job->k; p++) {
            const sum_t a_value = widen(a[at(job->a, i, p)]);
            for (int64_t j = 0; j < job->n; j++)
                sums[j] += a_value * widen(b[at(job->b, p, j)]);
        }
        finish_row(job, i, 0, job->n, sums);
    }
}

static rung_status settle(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form)
{
    (void)compute;
    if (job->n > (INT64_MAX >> 8))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "02_coalesced: the sums of a row of C need more memory than can be addressed");
    form->scratch = job->n * (int64_t)sizeof(sum_t);
    return RUNG_OK;
}

TYPED_KERNEL(02_coalesced) = {.run = run, .settle = settle};
