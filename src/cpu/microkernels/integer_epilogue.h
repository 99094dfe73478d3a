/* SPDX-License-Identifier: Apache-2.0 */
/* integer_epilogue.h - the epilogue of one I32 element, modulo 2^32. For vectors see cpu_epilogue_avx512.c. */
#ifndef RUNGI_CPU_INTEGER_EPILOGUE_H
#define RUNGI_CPU_INTEGER_EPILOGUE_H

#include "cpu/cpu_kernel.h"

static inline uint32_t rungi_integer_at(const rungi_cpu_input *view, int64_t i, int64_t j)
{
    return ((const uint32_t *)view->first)[i * view->row_stride + j * view->col_stride];
}

/* Applies alpha, beta and the epilogue to `sum` and stores element (i, j) of C. If `sum` is NULL, C already holds
 * alpha * A * B + beta * C. Unsigned arithmetic wraps around as defined. */
static inline void rungi_integer_epilogue(const rungi_cpu_job *job, int64_t i, int64_t j, const uint32_t *sum)
{
    uint32_t *out = (uint32_t *)job->c.first + i * job->c.row_stride + j * job->c.col_stride;
    uint32_t value = sum ? (uint32_t)(int64_t)job->alpha * *sum : *out;
    if (sum && job->beta != 0)
        value += (uint32_t)(int64_t)job->beta * *out;
    if (job->addend.first)
        value += (uint32_t)(int64_t)job->addend_factor * rungi_integer_at(&job->addend, i, j);
    if (job->bias.first)
        value += rungi_integer_at(&job->bias, i, j);
    if (job->activation == RUNG_ACTIVATION_RELU && value > INT32_MAX)
        value = 0;
    if (job->residual.first)
        value += rungi_integer_at(&job->residual, i, j);
    *out = value;
}

#endif /* RUNGI_CPU_INTEGER_EPILOGUE_H */
