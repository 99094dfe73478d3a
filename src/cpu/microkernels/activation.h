/* SPDX-License-Identifier: Apache-2.0 */
/* activation.h - rung_activation of one double. For vectors see cpu_epilogue_avx512.c. */
#ifndef RUNGI_CPU_ACTIVATION_H
#define RUNGI_CPU_ACTIVATION_H

#include <float.h>
#include <math.h>

#include "rung/rung.h"

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

#endif /* RUNGI_CPU_ACTIVATION_H */
