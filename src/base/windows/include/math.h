/* SPDX-License-Identifier: Apache-2.0 */
/* math.h - fma() and fmaf() of mingw-w64 round twice, and return NaN where the product overflows. Those of
 * fused_multiply_add.c use the instructions of the processor. Code that is compiled for such processors calls neither. */
#pragma once

#include_next <math.h>

double rungi_windows_fma(double x, double y, double z);
float rungi_windows_fmaf(float x, float y, float z);

#ifndef __FMA__
#define fma rungi_windows_fma
#define fmaf rungi_windows_fmaf
#endif
