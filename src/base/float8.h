/* SPDX-License-Identifier: Apache-2.0 */
/* float8.h - converts the 8-bit types F8E4M3 and F8E5M2 of the OCP specification to F32 and back, by integer arithmetic.
 * Inline, for loops that convert every element. */
#pragma once

#include "base/float16.h"

/* E4M3 has the fields of an F16 with a smaller bias. It has no infinity, and one NaN per sign. */
static inline float rungi_f8e4m3_to_f32(uint8_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x80u) << 24, rest = bits & 0x7fu;
    if (rest == 0x7fu)
        return rungi_f32_from_bits(sign | 0x7fc00000u);
    if (rest < 8) { /* denormal: a multiple of 2^-9, exact in F32 */
        float value = (float)rest * 0x1p-9f;
        return sign ? -value : value;
    }
    return rungi_f32_from_bits(sign | ((rest << 20) + ((127u - 7u) << 23)));
}

/* E5M2 is the upper byte of an F16. */
static inline float rungi_f8e5m2_to_f32(uint8_t bits)
{
    return rungi_f16_to_f32((uint16_t)(bits << 8));
}

/* Rounds |value| < 2^16 to nearest even, with `fraction_bits` bits after the leading one, or to a multiple of the
 * smallest denormal number, 2^(1 - bias - fraction_bits). Returns exponent and fraction without the sign. The carry
 * of rounding may reach the exponent. */
static inline uint32_t rungi_f8_round(uint32_t rest, uint32_t fraction_bits, uint32_t bias)
{
    uint32_t smallest_normal = (128u - bias) << 23, shift = 23u - fraction_bits;
    if (rest >= smallest_normal) {
        rest -= (127u - bias) << 23;
        return (rest + (1u << (shift - 1)) - 1u + (rest >> shift & 1u)) >> shift;
    }
    /* Shift the significand to units of the smallest denormal number and round by the bits that are shifted out. */
    uint32_t whole = (rest & 0x7fffffu) | 0x800000u, exponent = rest >> 23;
    shift += 128u - bias - exponent;
    if (exponent == 0 || shift > 25)
        return 0;
    uint32_t kept = whole >> shift, lost = whole & ((1u << shift) - 1u), half = 1u << (shift - 1);
    return kept + (lost > half || (lost == half && (kept & 1u)));
}

/* Converts to the type with these fields and `largest` as its largest number, in bits of F32. Numbers beyond it, and
 * infinities, become the largest, as with CUDA's satfinite. */
static inline uint8_t rungi_f8_from_f32(float value, uint32_t fraction_bits, uint32_t bias, uint32_t largest)
{
    uint32_t bits = rungi_f32_to_bits(value), rest = bits & 0x7fffffffu;
    uint8_t sign = (uint8_t)(bits >> 24 & 0x80u);
    if (rest > 0x7f800000u)
        return (uint8_t)(sign | 0x7fu);
    return (uint8_t)(sign | rungi_f8_round(rest < largest ? rest : largest, fraction_bits, bias));
}

static inline uint8_t rungi_f8e4m3_from_f32(float value)
{
    return rungi_f8_from_f32(value, 3, 7, 0x43e00000u); /* 448 */
}

static inline uint8_t rungi_f8e5m2_from_f32(float value)
{
    return rungi_f8_from_f32(value, 2, 15, 0x47600000u); /* 57344 */
}
