/* SPDX-License-Identifier: Apache-2.0 */
/* fused_multiply_add.c - see include/math.h. Processors of before 2013 have no instructions for it: there the functions of
 * mingw-w64 are called, whose last bit may be wrong. */
#include <math.h>
#undef fma
#undef fmaf

__attribute__((target("fma"))) static double fused(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}

__attribute__((target("fma"))) static float fused_f32(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}

double rungi_windows_fma(double x, double y, double z)
{
    return __builtin_cpu_supports("fma") ? fused(x, y, z) : fma(x, y, z);
}

float rungi_windows_fmaf(float x, float y, float z)
{
    return __builtin_cpu_supports("fma") ? fused_f32(x, y, z) : fmaf(x, y, z);
}
