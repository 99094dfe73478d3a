/* SPDX-License-Identifier: Apache-2.0 */
/* 01_naive - three loops, i-j-k, as the definition reads.
 *
 * Removes  nothing: it is where the ladder begins.
 * Leaves   a walk down a column of B for every element of C. In row-major storage
 *          each step of that walk is another cache line, of which one element is
 *          used before it is lost again.
 * Watch    rung verify --device cpu --kernels 01
 */
#include "cpu/kernels/kernels.h"

void rungi_cpu_01_naive(const rungi_cpu_job *job)
{
    const float *a = job->a.first, *b = job->b.first;
    const float alpha = (float)job->alpha, beta = (float)job->beta;

    for (int64_t i = 0; i < job->m; i++) {
        for (int64_t j = 0; j < job->n; j++) {
            float sum = 0.0f;
            for (int64_t p = 0; p < job->k; p++)
                sum += a[i * job->a.row_stride + p * job->a.col_stride] *
                       b[p * job->b.row_stride + j * job->b.col_stride];

            float *out = (float *)job->c.first + i * job->c.row_stride + j * job->c.col_stride;
            *out = beta == 0.0f ? alpha * sum : alpha * sum + beta * *out;
        }
    }
}
