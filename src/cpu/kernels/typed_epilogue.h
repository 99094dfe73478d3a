/* SPDX-License-Identifier: Apache-2.0 */
/* typed_epilogue.h - stores sums to C: applies alpha, beta and the epilogue in double and rounds once; for integers modulo
 * 2^32. */
#pragma once

#include "cpu/kernels/typed_kernel.h"
#include "cpu/microkernels/scalar_epilogue.h"

#ifndef SUMS_ARE_INTEGERS
#ifdef __F16C__
#include <immintrin.h>
#endif

static inline double load_f16(uint16_t bits)
{
#ifdef __F16C__
    return _cvtsh_ss(bits);
#else
    return rungi_f16_to_f32(bits);
#endif
}

static inline uint16_t narrow_f16(double value)
{
#ifdef __F16C__
    return _cvtss_sh((float)value, _MM_FROUND_TO_NEAREST_INT);
#else
    return rungi_f16_from_f32((float)value);
#endif
}

static inline double load_as_double(rung_type type, const void *memory, int64_t offset)
{
    switch (type) {
    case RUNG_F16: return load_f16(((const uint16_t *)memory)[offset]);
    case RUNG_BF16: return rungi_bf16_to_f32(((const uint16_t *)memory)[offset]);
    case RUNG_F64: return ((const double *)memory)[offset];
    default: return ((const float *)memory)[offset];
    }
}

static inline void store_rounded(rung_type type, void *memory, int64_t offset, double value)
{
    switch (type) {
    case RUNG_F16: ((uint16_t *)memory)[offset] = narrow_f16(value); break;
    case RUNG_BF16: ((uint16_t *)memory)[offset] = rungi_bf16_from_f32((float)value); break;
    case RUNG_F64: ((double *)memory)[offset] = value; break;
    default: ((float *)memory)[offset] = (float)value;
    }
}

/* Applies alpha, beta and the epilogue to `sum` and stores element (i, j) of C. */
static inline void epilogue_store(const rungi_cpu_job *job, int64_t i, int64_t j, sum_t sum)
{
    int64_t offset = i * job->c.row_stride + j * job->c.col_stride;
    double value = job->alpha * sum;
    if (job->beta != 0)
        value += job->beta * load_as_double(job->out, job->c.first, offset);
    if (job->addend.first)
        value += job->addend_factor * load_as_double(job->out, job->addend.first, element_offset(job->addend, i, j));
    if (job->bias.first)
        value += load_as_double(job->out, job->bias.first, element_offset(job->bias, i, j));
    value = rungi_activation_apply(job->activation, value);
    if (job->multiplier.first)
        value *= load_as_double(job->out, job->multiplier.first, element_offset(job->multiplier, i, j));
    if (job->residual.first)
        value += load_as_double(job->out, job->residual.first, element_offset(job->residual, i, j));
    store_rounded(job->out, job->c.first, offset, value);
}

/* Stores `count` contiguous elements without epilogue. `type` is a constant where this function is called, so no element
 * tests it. */
static inline __attribute__((always_inline)) void epilogue_store_plain(const rungi_cpu_job *job, rung_type type,
                                                                       int64_t first, int64_t count, const sum_t *sums)
{
    void *c = job->c.first;
    const double alpha = job->alpha, beta = job->beta;
    if (beta == 0)
        for (int64_t x = 0; x < count; x++)
            store_rounded(type, c, first + x, alpha * sums[x]);
    else
        for (int64_t x = 0; x < count; x++)
            store_rounded(type, c, first + x, alpha * sums[x] + beta * load_as_double(type, c, first + x));
}

static inline bool has_plain_output(const rungi_cpu_job *job)
{
    return job->c.col_stride == 1 && !job->addend.first && !job->bias.first && !job->multiplier.first &&
           !job->residual.first && job->activation == RUNG_ACTIVATION_NONE;
}

#else
static inline void epilogue_store(const rungi_cpu_job *job, int64_t i, int64_t j, sum_t sum)
{
    rungi_integer_epilogue(job, i, j, &sum);
}
#endif

/* The same for `count` elements of row i from column j on. */
static inline void epilogue_store_row(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t count, const sum_t *sums)
{
#ifndef SUMS_ARE_INTEGERS
    const int64_t first = i * job->c.row_stride + j;
    if (has_plain_output(job)) {
        switch (job->out) {
        case RUNG_F64: epilogue_store_plain(job, RUNG_F64, first, count, sums); break;
        case RUNG_F16: epilogue_store_plain(job, RUNG_F16, first, count, sums); break;
        case RUNG_BF16: epilogue_store_plain(job, RUNG_BF16, first, count, sums); break;
        default: epilogue_store_plain(job, RUNG_F32, first, count, sums);
        }
        return;
    }
#endif
    for (int64_t x = 0; x < count; x++)
        epilogue_store(job, i, j + x, sums[x]);
}

/* The same for m x n elements, or fewer at the edges of C. The sums have rows of n elements. */
static inline void epilogue_store_block(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t m, int64_t n,
                                        const sum_t *sums)
{
    for (int64_t x = 0; x < rungi_min(m, job->m - i); x++)
        epilogue_store_row(job, i + x, j, rungi_min(n, job->n - j), sums + x * n);
}

/* The same for all of C where k is 0. */
static inline void epilogue_store_zeros(const rungi_cpu_job *job)
{
    for (int64_t i = 0; i < job->m; i++)
        for (int64_t j = 0; j < job->n; j++)
            epilogue_store(job, i, j, 0);
}
