/* SPDX-License-Identifier: Apache-2.0 */
/* math.h - fma() and fmaf() of mingw-w64 return NaN if x * y overflows and z is infinite; the result is z. Code that is
 * compiled for a processor with these instructions does not call them. */
#pragma once

#include_next <math.h>

#ifndef __FMA__
static inline double rungi_windows_fma(double x, double y, double z)
{
    return __builtin_isinf(z) && __builtin_isfinite(x) && __builtin_isfinite(y) ? z : fma(x, y, z);
}

static inline float rungi_windows_fmaf(float x, float y, float z)
{
    return __builtin_isinf(z) && __builtin_isfinite(x) && __builtin_isfinite(y) ? z : fmaf(x, y, z);
}

#define fma rungi_windows_fma
#define fmaf rungi_windows_fmaf
#endif
