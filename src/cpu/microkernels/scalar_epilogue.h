/* SPDX-License-Identifier: Apache-2.0 */
/* scalar_epilogue.h - the activation of one double, and the epilogue of one I32 element, modulo 2^32. For vectors see
 * cpu_epilogue_avx512.c. */
#pragma once

#include <float.h>
#include <math.h>

#include "cpu/cpu_kernel.h"

/* Returns v / (1 + exp(-x)), where x has the sign of v. The exponential of -|x| cannot overflow. Minus infinity becomes the
 * smallest finite number, so that the result is its limit, -0. NaNs pass through. */
static inline double rungi_sigmoid_times(double v, double x)
{
    double tail = exp(-fabs(x)), finite = v < -DBL_MAX ? -DBL_MAX : v;
    return finite * ((x < 0 ? tail : 1) / (1 + tail));
}

static inline double rungi_activation_apply(rung_activation activation, double v)
{
    switch (activation) {
    case RUNG_ACTIVATION_RELU: return v < 0 ? 0 : v; /* NaNs pass through */
    case RUNG_ACTIVATION_GELU: return 0.5 * v * (1 + erf(v * 0.70710678118654752440));
    case RUNG_ACTIVATION_GELU_TANH: /* 1 + tanh(u) = 2 / (1 + exp(-2 u)), and 2 sqrt(2 / pi) is the factor */
        return rungi_sigmoid_times(v, 1.5957691216057307117 * v * (1 + 0.044715 * v * v));
    case RUNG_ACTIVATION_SILU: return rungi_sigmoid_times(v, v);
    case RUNG_ACTIVATION_NONE: break;
    }
    return v;
}

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
    if (job->multiplier.first)
        value *= rungi_integer_at(&job->multiplier, i, j);
    if (job->residual.first)
        value += rungi_integer_at(&job->residual, i, j);
    *out = value;
}
