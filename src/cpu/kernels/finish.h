/* SPDX-License-Identifier: Apache-2.0 */
/* finish.h - what becomes of a sum: alpha, beta and the epilogue, in double, rounded once;
 * of whole numbers modulo 2^32. */
#ifndef RUNGI_CPU_FINISH_H
#define RUNGI_CPU_FINISH_H

#include "cpu/kernels/types.h"

#ifndef SUMS_ARE_WHOLE
#include "cpu/activation.h"

#ifdef __F16C__
#include <immintrin.h>

static inline double load_f16(uint16_t bits)
{
    return _cvtsh_ss(bits);
}

static inline uint16_t narrow_f16(double value)
{
    return _cvtss_sh((float)value, _MM_FROUND_TO_NEAREST_INT);
}
#else
static inline double load_f16(uint16_t bits)
{
    return rungi_f16_to_f32(bits);
}

static inline uint16_t narrow_f16(double value)
{
    return rungi_f16_from_f32((float)value);
}
#endif

static inline double load_out(rung_type type, const void *memory, int64_t place)
{
    switch (type) {
    case RUNG_F16: return load_f16(((const uint16_t *)memory)[place]);
    case RUNG_BF16: return rungi_bf16_to_f32(((const uint16_t *)memory)[place]);
    case RUNG_F64: return ((const double *)memory)[place];
    default: return ((const float *)memory)[place];
    }
}

static inline void store_out(rung_type type, void *memory, int64_t place, double value)
{
    switch (type) {
    case RUNG_F16: ((uint16_t *)memory)[place] = narrow_f16(value); break;
    case RUNG_BF16: ((uint16_t *)memory)[place] = rungi_bf16_from_f32((float)value); break;
    case RUNG_F64: ((double *)memory)[place] = value; break;
    default: ((float *)memory)[place] = (float)value;
    }
}

/* Element (i, j) of C, whose sum is this. */
static inline void finish(const rungi_cpu_job *job, int64_t i, int64_t j, sum_t sum)
{
    int64_t place = i * job->c.row_stride + j * job->c.col_stride;
    double value = job->alpha * sum;
    if (job->beta != 0)
        value += job->beta * load_out(job->out, job->c.first, place);
    if (job->addend.first)
        value += job->addend_factor * load_out(job->out, job->addend.first, at(job->addend, i, j));
    if (job->bias.first)
        value += load_out(job->out, job->bias.first, at(job->bias, i, j));
    value = rungi_activated(job->activation, value);
    if (job->residual.first)
        value += load_out(job->out, job->residual.first, at(job->residual, i, j));
    store_out(job->out, job->c.first, place, value);
}

/* So many elements side by side, with no epilogue, of a type that is a constant where this is
 * called: no element has to ask for it. */
static inline __attribute__((always_inline)) void finish_plain(const rungi_cpu_job *job, rung_type type, int64_t first,
                                                               int64_t count, const sum_t *sums)
{
    void *c = job->c.first;
    const double alpha = job->alpha, beta = job->beta;
    if (beta == 0)
        for (int64_t x = 0; x < count; x++)
            store_out(type, c, first + x, alpha * sums[x]);
    else
        for (int64_t x = 0; x < count; x++)
            store_out(type, c, first + x, alpha * sums[x] + beta * load_out(type, c, first + x));
}

static inline bool is_plain(const rungi_cpu_job *job)
{
    return job->c.col_stride == 1 && !job->addend.first && !job->bias.first && !job->residual.first &&
           job->activation == RUNG_ACTIVATION_NONE;
}

/* Elements (i, j) and on of a row, so many. */
static inline void finish_row(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t count, const sum_t *sums)
{
    const int64_t first = i * job->c.row_stride + j;
    if (!is_plain(job))
        for (int64_t x = 0; x < count; x++)
            finish(job, i, j + x, sums[x]);
    else if (job->out == RUNG_F64)
        finish_plain(job, RUNG_F64, first, count, sums);
    else if (job->out == RUNG_F16)
        finish_plain(job, RUNG_F16, first, count, sums);
    else if (job->out == RUNG_BF16)
        finish_plain(job, RUNG_BF16, first, count, sums);
    else
        finish_plain(job, RUNG_F32, first, count, sums);
}
#else
static inline void finish(const rungi_cpu_job *job, int64_t i, int64_t j, sum_t sum)
{
    uint32_t *out = (uint32_t *)job->c.first + i * job->c.row_stride + j * job->c.col_stride;
    uint32_t value = (uint32_t)(int64_t)job->alpha * sum;
    if (job->beta != 0)
        value += (uint32_t)(int64_t)job->beta * *out;
    if (job->addend.first)
        value += (uint32_t)(int64_t)job->addend_factor * ((const uint32_t *)job->addend.first)[at(job->addend, i, j)];
    if (job->bias.first)
        value += ((const uint32_t *)job->bias.first)[at(job->bias, i, j)];
    if (job->activation == RUNG_ACTIVATION_RELU && value > INT32_MAX)
        value = 0;
    if (job->residual.first)
        value += ((const uint32_t *)job->residual.first)[at(job->residual, i, j)];
    *out = value;
}

static inline void finish_row(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t count, const sum_t *sums)
{
    for (int64_t x = 0; x < count; x++)
        finish(job, i, j + x, sums[x]);
}
#endif

/* m x n elements, or as many as there are; their sums stand in rows of n. */
static inline void finish_block(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t m, int64_t n, const sum_t *sums)
{
    for (int64_t x = 0; x < rungi_smaller(m, job->m - i); x++)
        finish_row(job, i + x, j, rungi_smaller(n, job->n - j), sums + x * n);
}

/* All of C, where there is nothing to sum. */
static inline void finish_zeros(const rungi_cpu_job *job)
{
    for (int64_t i = 0; i < job->m; i++)
        for (int64_t j = 0; j < job->n; j++)
            finish(job, i, j, 0);
}

#endif /* RUNGI_CPU_FINISH_H */
