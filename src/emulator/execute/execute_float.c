/* SPDX-License-Identifier: Apache-2.0 */
/* execute_float.c - arithmetic of .f32, .f64 and .f32x2.
 *
 * Executors with "mode" in their name serve every rounding mode, .ftz and .sat; they change the rounding mode of the host
 * for the time of the loop. The others are the fast paths for .rn. */
#include <fenv.h>
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"

/* ---- Fast paths ---------------------------------------------------------------------------------------------------- */

BINARY(add_f32, float, float, float, canonical_f32(x + y))
BINARY(sub_f32, float, float, float, canonical_f32(x - y))
BINARY(mul_f32, float, float, float, canonical_f32(x *y))
TERNARY(fma_f32, float, float, float, float, canonical_f32(fmaf(x, y, z)))
BINARY(add_f64, double, double, double, x + y)
BINARY(sub_f64, double, double, double, x - y)
BINARY(mul_f64, double, double, double, x *y)
TERNARY(fma_f64, double, double, double, double, fma(x, y, z))

/* ---- All modes ----------------------------------------------------------------------------------------------------- */

static void set_rounding(int rounding)
{
    static const int modes[] = {
        [PTX_ROUND_RZ] = FE_TOWARDZERO, [PTX_ROUND_RM] = FE_DOWNWARD, [PTX_ROUND_RP] = FE_UPWARD};
    if (rounding >= PTX_ROUND_RZ && rounding <= PTX_ROUND_RP)
        fesetround(modes[rounding]);
}

static void reset_rounding(int rounding)
{
    if (rounding >= PTX_ROUND_RZ && rounding <= PTX_ROUND_RP)
        fesetround(FE_TONEAREST);
}

static inline float input(float value, uint32_t flags)
{
    return flags & PTX_FLAG_FTZ ? flush_f32(value) : value;
}

static inline float output(float value, uint32_t flags)
{
    value = flags & PTX_FLAG_FTZ ? flush_f32(value) : value;
    return flags & PTX_FLAG_SAT ? saturate_f32(value) : canonical_f32(value);
}

/* Computes `expression` of x, y and z in the instruction's mode. Unused operands repeat the first. */
#define MODE(name, T, last, IN, OUT, expression)                                                 \
    EXECUTOR(name)                                                                               \
    {                                                                                            \
        T *d = OPERAND(0), result[PTX_WARP_LANES];                                               \
        const T *a = OPERAND(1), *b = OPERAND(last < 2 ? 1 : 2), *c = OPERAND(last < 3 ? 1 : 3); \
        uint32_t flags = instruction->flags;                                                     \
        set_rounding(instruction->rounding);                                                     \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {                                      \
            volatile T x = IN(a[lane], flags), y = IN(b[lane], flags), z = IN(c[lane], flags);   \
            (void)y;                                                                             \
            (void)z;                                                                             \
            volatile T value = expression;                                                       \
            result[lane] = value;                                                                \
        }                                                                                        \
        reset_rounding(instruction->rounding);                                                   \
        FOR_LANES(d[lane] = OUT(result[lane], flags))                                            \
    }
static inline double same(double value, uint32_t flags)
{
    (void)flags;
    return value;
}

#define MODES_F32(name, last, expression) MODE(name##_mode_f32, float, last, input, output, expression)
#define MODES_F64(name, last, expression) MODE(name##_mode_f64, double, last, same, same, expression)
MODES_F32(add, 2, x + y)
MODES_F32(sub, 2, x - y)
MODES_F32(mul, 2, x *y)
MODES_F32(fma, 3, fmaf(x, y, z))
MODES_F32(div, 2, x / y)
MODES_F32(rcp, 1, 1.0f / x)
MODES_F32(sqrt, 1, sqrtf(x))
MODES_F64(add, 2, x + y)
MODES_F64(sub, 2, x - y)
MODES_F64(mul, 2, x *y)
MODES_F64(fma, 3, fma(x, y, z))
MODES_F64(div, 2, x / y)
MODES_F64(rcp, 1, 1.0 / x)
MODES_F64(sqrt, 1, sqrt(x))

/* Two floats per lane. */
#define PAIR(name, last, expression)                                                               \
    EXECUTOR(name##_f32x2)                                                                         \
    {                                                                                              \
        float *d = OPERAND(0), result[2 * PTX_WARP_LANES];                                         \
        const float *a = OPERAND(1), *b = OPERAND(2), *c = OPERAND(last < 3 ? 1 : 3);              \
        uint32_t flags = instruction->flags;                                                       \
        set_rounding(instruction->rounding);                                                       \
        for (int i = 0; i < 2 * PTX_WARP_LANES; i++) {                                             \
            volatile float x = input(a[i], flags), y = input(b[i], flags), z = input(c[i], flags); \
            (void)z;                                                                               \
            volatile float value = expression;                                                     \
            result[i] = value;                                                                     \
        }                                                                                          \
        reset_rounding(instruction->rounding);                                                     \
        FOR_LANES(size_t first = 2 * (size_t)lane; d[first] = output(result[first], flags);        \
                  d[first + 1] = output(result[first + 1], flags))                                 \
    }
PAIR(add, 2, x + y)
PAIR(sub, 2, x - y)
PAIR(mul, 2, x *y)
PAIR(fma, 3, fmaf(x, y, z))

/* ---- Sign, minimum, maximum ---------------------------------------------------------------------------------------- */

#define BITS_F32(name, expression)                                                    \
    EXECUTOR(name)                                                                    \
    {                                                                                 \
        uint32_t *d = OPERAND(0);                                                     \
        const float *a = OPERAND(1);                                                  \
        uint32_t flags = instruction->flags;                                          \
        FOR_LANES(uint32_t x = f32_bits(input(a[lane], flags)); d[lane] = expression) \
    }
BITS_F32(abs_f32, x & 0x7fffffff)
BITS_F32(neg_f32, x ^ 0x80000000)
UNARY(abs_f64, uint64_t, uint64_t, x & ~((uint64_t)1 << 63))
UNARY(neg_f64, uint64_t, uint64_t, x ^ (uint64_t)1 << 63)
BINARY(copysign_f32, uint32_t, uint32_t, uint32_t, (x & 0x80000000) | (y & 0x7fffffff))
BINARY(copysign_f64, uint64_t, uint64_t, uint64_t, (x & (uint64_t)1 << 63) | (y & ~((uint64_t)1 << 63)))

/* The minimum, or the maximum, of two numbers. -0 is less than +0; a NaN is ignored, or with .NaN returned. */
static inline float extreme_f32(float x, float y, bool is_max, uint32_t flags)
{
    x = input(x, flags);
    y = input(y, flags);
    uint32_t sign = (f32_bits(x) ^ f32_bits(y)) & 0x80000000;
    if (flags & (PTX_FLAG_XORSIGN_ABS | PTX_FLAG_ABS)) {
        x = f32_of_bits(f32_bits(x) & 0x7fffffff);
        y = f32_of_bits(f32_bits(y) & 0x7fffffff);
    }
    bool has_nan = x != x || y != y;
    if ((flags & PTX_FLAG_NAN && has_nan) || (x != x && y != y))
        return f32_of_bits(0x7fffffff);
    bool takes_x = y != y || (x == y ? (f32_bits(x) >> 31 != 0) != is_max : x == x && (x < y) != is_max);
    float result = takes_x ? x : y;
    return flags & PTX_FLAG_XORSIGN_ABS ? f32_of_bits(f32_bits(result) | sign) : result;
}

#define EXTREME_F32(name, is_max)                                           \
    EXECUTOR(name)                                                          \
    {                                                                       \
        float *d = OPERAND(0);                                              \
        const float *a = OPERAND(1), *b = OPERAND(2);                       \
        const float *c = instruction->operand[3] ? OPERAND(3) : NULL;       \
        uint32_t flags = instruction->flags;                                \
        FOR_LANES(float x = extreme_f32(a[lane], b[lane], is_max, flags);   \
                  d[lane] = c ? extreme_f32(x, c[lane], is_max, flags) : x) \
    }
EXTREME_F32(min_f32, false)
EXTREME_F32(max_f32, true)

static inline double extreme_f64(double x, double y, bool is_max)
{
    if (x != x)
        return y;
    if (y != y)
        return x;
    if (x == y)
        return (signbit(x) != 0) != is_max ? x : y;
    return (x < y) != is_max ? x : y;
}
BINARY(min_f64, double, double, double, extreme_f64(x, y, false))
BINARY(max_f64, double, double, double, extreme_f64(x, y, true))

/* ---- Approximations ------------------------------------------------------------------------------------------------ */

#define APPROXIMATE_F32(name, expression)                                                        \
    EXECUTOR(name)                                                                               \
    {                                                                                            \
        float *d = OPERAND(0);                                                                   \
        const float *a = OPERAND(1);                                                             \
        uint32_t flags = instruction->flags;                                                     \
        FOR_LANES(float x = input(a[lane], flags); d[lane] = output((float)(expression), flags)) \
    }
APPROXIMATE_F32(rsqrt_f32, 1 / sqrt((double)x))
APPROXIMATE_F32(sin_f32, sinf(x))
APPROXIMATE_F32(cos_f32, cosf(x))
APPROXIMATE_F32(lg2_f32, log2f(x))
APPROXIMATE_F32(ex2_f32, exp2f(x))
APPROXIMATE_F32(tanh_f32, tanhf(x))
UNARY(rsqrt_f64, double, double, 1 / sqrt(x))

static inline double flush_f64(double value)
{
    return fabs(value) < 0x1p-1022 ? copysign(0, value) : value;
}
/* The lower 32 bits of these results are zero. */
UNARY(rcp_approx_f64, uint64_t, double, f64_bits(flush_f64(1 / flush_f64(x))) & ~(uint64_t)0xffffffff)
UNARY(rsqrt_approx_f64, uint64_t, double, f64_bits(1 / sqrt(flush_f64(x))) & ~(uint64_t)0xffffffff)

#define E_MODES(name) E(name##_mode_f32), E(name##_mode_f64)
PTX_EXECUTORS(float) = {
    E(add_f32),    E(sub_f32),        E(mul_f32),          E(fma_f32),      E(add_f64),   E(sub_f64),   E(mul_f64),
    E(fma_f64),    E_MODES(add),      E_MODES(sub),        E_MODES(mul),    E_MODES(fma), E_MODES(div), E_MODES(rcp),
    E_MODES(sqrt), E(add_f32x2),      E(sub_f32x2),        E(mul_f32x2),    E(fma_f32x2), E(abs_f32),   E(neg_f32),
    E(abs_f64),    E(neg_f64),        E(copysign_f32),     E(copysign_f64), E(min_f32),   E(max_f32),   E(min_f64),
    E(max_f64),    E(rsqrt_f32),      E(sin_f32),          E(cos_f32),      E(lg2_f32),   E(ex2_f32),   E(tanh_f32),
    E(rsqrt_f64),  E(rcp_approx_f64), E(rsqrt_approx_f64), {NULL, NULL}};
