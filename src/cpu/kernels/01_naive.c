/* SPDX-License-Identifier: Apache-2.0 */
/* 01_naive - three loops, i-j-k, as the definition reads.
 *
 * Removes  nothing: the ladder begins here.
 * Leaves   strided reads of B. For each element of C the inner loop walks down a column of B. In row-major
 *          storage each step touches another cache line and uses one element of it (see 02).
 * Watch    rung verify --device cpu --kernels 01
 *
 * All additions go to the same sum, so each one also waits for the previous one.
 */
#include "cpu/kernels/typed_epilogue.h"

static void run(const rungi_cpu_job *job)
{
    const in_t *a = job->a.first, *b = job->b.first;
    for (int64_t i = 0; i < job->m; i++)
        for (int64_t j = 0; j < job->n; j++) {
            sum_t sum = 0;
            for (int64_t p = 0; p < job->k; p++)
                sum += widen(a[element_offset(job->a, i, p)]) * widen(b[element_offset(job->b, p, j)]);
            epilogue_store(job, i, j, sum);
        }
}

TYPED_KERNEL(01_naive) = {.run = run};
