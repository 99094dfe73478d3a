/* SPDX-License-Identifier: Apache-2.0 */
/* float16.h - converts F16 and BF16 to F32 and back by integer arithmetic, without support of the compiler or the
 * processor. Inline, for loops that convert every element. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint32_t rungi_f32_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float rungi_f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float rungi_bf16_to_f32(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    if ((wide & 0x7fffffffu) > 0x7f800000u)
        wide |= 0x00400000u; /* quiet */
    return rungi_f32_from_bits(wide);
}

/* Rounds to nearest even: adds just under half a unit in the last place, and one more if that place is odd. The carry may
 * reach the exponent, and infinity. */
static inline uint16_t rungi_bf16_from_f32(float value)
{
    uint32_t bits = rungi_f32_to_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float rungi_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    if (rest > 0x7c00u)
        return rungi_f32_from_bits(sign | 0x7fc00000u | rest << 13);
    if (rest == 0x7c00u)
        return rungi_f32_from_bits(sign | 0x7f800000u);
    if (rest < 0x0400u) { /* denormal: a multiple of 2^-24, exact in F32 */
        float value = (float)rest * 0x1p-24f;
        return sign ? -value : value;
    }
    return rungi_f32_from_bits(sign | ((rest << 13) + ((127u - 15u) << 23)));
}

static inline uint16_t rungi_f16_from_f32(float value)
{
    uint32_t bits = rungi_f32_to_bits(value), rest = bits & 0x7fffffffu;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (rest > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
    if (rest >= 0x477ff000u) /* 65520 rounds to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (rest >= 0x38800000u) { /* 2^-14, the smallest normal number */
        rest -= (127u - 15u) << 23;
        return (uint16_t)(sign | (rest + 0xfffu + (rest >> 13 & 1u)) >> 13);
    }
    if (rest < 0x33000000u) /* below 2^-25, half the smallest denormal number */
        return sign;
    /* Shift the significand to units of 2^-24 and round by the bits that are shifted out. */
    uint32_t shift = 126u - (rest >> 23), whole = (rest & 0x7fffffu) | 0x800000u;
    uint32_t kept = whole >> shift, lost = whole & ((1u << shift) - 1), half = 1u << (shift - 1);
    return (uint16_t)(sign | (kept + (lost > half || (lost == half && (kept & 1u)))));
}
