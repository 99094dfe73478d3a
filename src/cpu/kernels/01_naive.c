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

static void multiply_f32(const rungi_cpu_job *job)
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

/* Without a sign, where wrapping around is defined: exact modulo 2^32. */
static void multiply_i32(const rungi_cpu_job *job)
{
    const uint32_t *a = job->a.first, *b = job->b.first;
    const uint32_t alpha = (uint32_t)(int64_t)job->alpha, beta = (uint32_t)(int64_t)job->beta;

    for (int64_t i = 0; i < job->m; i++) {
        for (int64_t j = 0; j < job->n; j++) {
            uint32_t sum = 0;
            for (int64_t p = 0; p < job->k; p++)
                sum += a[i * job->a.row_stride + p * job->a.col_stride] *
                       b[p * job->b.row_stride + j * job->b.col_stride];

            uint32_t *out = (uint32_t *)job->c.first + i * job->c.row_stride + j * job->c.col_stride;
            *out = beta == 0 ? alpha * sum : alpha * sum + beta * *out;
        }
    }
}

void rungi_cpu_01_naive(const rungi_cpu_job *job)
{
    if (job->type == RUNG_I32)
        multiply_i32(job);
    else
        multiply_f32(job);
}
