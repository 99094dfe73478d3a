/* SPDX-License-Identifier: Apache-2.0 */
/* float_bits.h - conversions between floating-point formats, and the canonical NaN of the GPU. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "base/float16.h"

static inline uint32_t f32_bits(float value)
{
    return rungi_f32_to_bits(value);
}

static inline float f32_of_bits(uint32_t bits)
{
    return rungi_f32_from_bits(bits);
}

static inline uint64_t f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double f64_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Flushes a subnormal number to a zero of its sign. */
static inline float flush_f32(float value)
{
    uint32_t bits = f32_bits(value);
    return (bits & 0x7f800000) == 0 ? f32_of_bits(bits & 0x80000000) : value;
}

/* Single-precision arithmetic of the GPU returns this NaN whatever the operands were. */
static inline float canonical_f32(float value)
{
    return value != value ? f32_of_bits(0x7fffffff) : value;
}

/* Clamps to [0, 1]; NaN becomes 0. */
static inline float saturate_f32(float value)
{
    return value > 0 ? value < 1 ? value : 1 : 0;
}

/* Clang 14 has no _Float16 on x86, so half precision is the processor's, or integer arithmetic. */
static inline float f16_to_f32(uint16_t bits)
{
#ifdef __F16C__
    return _cvtsh_ss(bits);
#else
    return rungi_f16_to_f32(bits);
#endif
}

static inline float bf16_to_f32(uint16_t bits)
{
    return f32_of_bits((uint32_t)bits << 16);
}

/* Rounds to nearest even. NaN becomes the canonical 0x7fff. */
static inline uint16_t f32_to_f16(float value)
{
#ifdef __F16C__
    uint16_t bits = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
#else
    uint16_t bits = rungi_f16_from_f32(value);
#endif
    return value != value ? 0x7fff : bits;
}

static inline uint16_t f32_to_bf16(float value)
{
    uint32_t bits = f32_bits(value);
    return value != value ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* e4m3 has the bits of an f16 with a smaller bias. It has no infinity, and one NaN per sign. */
static inline float e4m3_to_f32(uint32_t bits)
{
    float value = f16_to_f32((uint16_t)((bits & 0x80) << 8 | (bits & 0x7f) << 7)) * 256;
    return (bits & 0x7f) == 0x7f ? NAN : value;
}

/* e5m2 is the upper byte of an f16. */
static inline float e5m2_to_f32(uint32_t bits)
{
    return f16_to_f32((uint16_t)(bits << 8));
}

/* The formats of 4 and 6 bits have neither infinity nor NaN. Their exponent and fraction are those of an f16 with a smaller
 * bias, too. */
static inline float e2m1_to_f32(uint32_t bits)
{
    return f16_to_f32((uint16_t)((bits & 0x8) << 12 | (bits & 0x7) << 9)) * 0x1p14f;
}

static inline float e2m3_to_f32(uint32_t bits)
{
    return f16_to_f32((uint16_t)((bits & 0x20) << 10 | (bits & 0x1f) << 7)) * 0x1p14f;
}

static inline float e3m2_to_f32(uint32_t bits)
{
    return f16_to_f32((uint16_t)((bits & 0x20) << 10 | (bits & 0x1f) << 8)) * 0x1p12f;
}

/* ue8m0 is the exponent of a float: 0 is 2^-127, and 0xff is NaN. */
static inline float ue8m0_to_f32(uint32_t bits)
{
    return f32_of_bits(bits == 0xff ? 0x7fffffff : bits == 0 ? 0x00400000 : bits << 23);
}
