/* SPDX-License-Identifier: Apache-2.0 */
/* 01_naive - three loops, i-j-k, as the definition reads.
 *
 * Removes  nothing: it is where the ladder begins.
 * Leaves   a walk down a column of B for every element of C. In row-major storage
 *          each step of that walk is another cache line, of which one element is
 *          used before it is lost again (see 02).
 * Watch    rung verify --device cpu --kernels 01
 *
 * And each addition waits for the one before it, since they all go to one sum.
 */
#include "cpu/kernels/finish.h"

static void run(const rungi_cpu_job *job)
{
    const in_t *a = job->a.first, *b = job->b.first;
    for (int64_t i = 0; i < job->m; i++)
        for (int64_t j = 0; j < job->n; j++) {
            sum_t sum = 0;
            for (int64_t p = 0; p < job->k; p++)
                sum += widen(a[at(job->a, i, p)]) * widen(b[at(job->b, p, j)]);
            finish(job, i, j, sum);
        }
}

TYPED_KERNEL(01_naive) = {.run = run};
