/* SPDX-License-Identifier: Apache-2.0 */
/* execute_half.c - arithmetic of .f16, .bf16 and their pairs.
 *
 * Sums and products are computed in single precision and rounded once more; with 24 bits, more than twice those of either
 * type plus two, the second rounding does no harm. fma is computed in double precision with rounding to odd. */
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"

static inline float flush_f16(float value)
{
    return fabsf(value) < 0x1p-14f ? copysignf(0, value) : value;
}

static inline float read_f16(uint16_t bits, uint32_t flags)
{
    float value = f16_to_f32(bits);
    return flags & PTX_FLAG_FTZ ? flush_f16(value) : value;
}

static inline float read_bf16(uint16_t bits, uint32_t flags)
{
    (void)flags;
    return bf16_to_f32(bits);
}

static inline float clamp(float value, uint32_t flags)
{
    if (flags & PTX_FLAG_SAT)
        return saturate_f32(value);
    return (flags & PTX_FLAG_RELU) && value <= 0 ? 0 : value;
}

static inline uint16_t write_f16(float value, uint32_t flags)
{
    uint16_t bits = f32_to_f16(clamp(value, flags));
    return (flags & PTX_FLAG_FTZ) && (bits & 0x7c00) == 0 ? bits & 0x8000 : bits;
}

static inline uint16_t write_bf16(float value, uint32_t flags)
{
    return f32_to_bf16(clamp(value, flags));
}

/* Returns x * y + z as a float whose last bit is odd if it is inexact. Rounding it to 11 or 8 bits gives the result that
 * one rounding of the exact value gives. */
static inline float fma_to_odd(float x, float y, float z)
{
    double product = (double)x * y, sum = product + z;
    double back = sum - product, error = (product - (sum - back)) + (z - back);
    uint64_t bits = f64_bits(sum);
    if (isfinite(sum) && error != 0 && (bits & 1) == 0)
        sum = f64_of_bits((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
    float result = (float)sum;
    if (!isfinite(result) || (double)result == sum)
        return result;
    uint32_t narrow = f32_bits(result);
    if (fabs((double)result) > fabs(sum))
        narrow--;
    return f32_of_bits(narrow | 1);
}

static inline float extreme(float x, float y, bool is_max, uint32_t flags)
{
    uint32_t sign = (f32_bits(x) ^ f32_bits(y)) & 0x80000000;
    if (flags & PTX_FLAG_XORSIGN_ABS) {
        x = fabsf(x);
        y = fabsf(y);
    }
    if (((flags & PTX_FLAG_NAN) && (x != x || y != y)) || (x != x && y != y))
        return f32_of_bits(0x7fffffff);
    bool takes_x = y != y || (x == y ? (signbit(x) != 0) != is_max : x == x && (x < y) != is_max);
    float result = takes_x ? x : y;
    return flags & PTX_FLAG_XORSIGN_ABS ? f32_of_bits(f32_bits(result) | sign) : result;
}

/* `count` elements per lane: 1, or 2 for pairs. */
#define HALF(name, type, count, last, expression)                                                               \
    EXECUTOR(name)                                                                                              \
    {                                                                                                           \
        uint16_t *d = OPERAND(0);                                                                               \
        const uint16_t *a = OPERAND(1), *b = OPERAND(last < 2 ? 1 : 2), *c = OPERAND(last < 3 ? 1 : 3);         \
        uint32_t flags = instruction->flags;                                                                    \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)                                                       \
            for (int i = count * lane; (mask >> lane & 1) && i < count * (lane + 1); i++) {                     \
                float x = read_##type(a[i], flags), y = read_##type(b[i], flags), z = read_##type(c[i], flags); \
                (void)y;                                                                                        \
                (void)z;                                                                                        \
                d[i] = write_##type(expression, flags);                                                         \
            }                                                                                                   \
    }
/* Operations on bits: NaN payloads stay. */
#define HALF_BITS(name, type, count, expression)                                            \
    EXECUTOR(name)                                                                          \
    {                                                                                       \
        uint16_t *d = OPERAND(0);                                                           \
        const uint16_t *a = OPERAND(1);                                                     \
        bool flushes = instruction->flags & PTX_FLAG_FTZ;                                   \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)                                   \
            for (int i = count * lane; (mask >> lane & 1) && i < count * (lane + 1); i++) { \
                uint16_t x = flushes && (a[i] & 0x7c00) == 0 ? a[i] & 0x8000 : a[i];        \
                d[i] = (uint16_t)(expression);                                              \
            }                                                                               \
    }
#define HALVES(suffix, type, count)                                 \
    HALF(add_##suffix, type, count, 2, x + y)                       \
    HALF(sub_##suffix, type, count, 2, x - y)                       \
    HALF(mul_##suffix, type, count, 2, x *y)                        \
    HALF(fma_##suffix, type, count, 3, fma_to_odd(x, y, z))         \
    HALF(min_##suffix, type, count, 2, extreme(x, y, false, flags)) \
    HALF(max_##suffix, type, count, 2, extreme(x, y, true, flags))  \
    HALF(ex2_##suffix, type, count, 1, exp2f(x))                    \
    HALF(tanh_##suffix, type, count, 1, tanhf(x))                   \
    HALF_BITS(abs_##suffix, type, count, x & 0x7fff)                \
    HALF_BITS(neg_##suffix, type, count, x ^ 0x8000)
HALVES(f16, f16, 1)
HALVES(f16x2, f16, 2)
HALVES(bf16, bf16, 1)
HALVES(bf16x2, bf16, 2)

#define E_HALVES(suffix)                                                                                  \
    E(add_##suffix), E(sub_##suffix), E(mul_##suffix), E(fma_##suffix), E(min_##suffix), E(max_##suffix), \
        E(ex2_##suffix), E(tanh_##suffix), E(abs_##suffix), E(neg_##suffix)
PTX_EXECUTORS(half) = {E_HALVES(f16), E_HALVES(f16x2), E_HALVES(bf16), E_HALVES(bf16x2), {NULL, NULL}};
