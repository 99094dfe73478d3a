/* SPDX-License-Identifier: Apache-2.0 */
/* float4.h - converts F4E2M1, the elements of MXFP4 and NVFP4, and E8M0, the scales of MX formats, to F32 and back. Inline, for
 * loops that convert every element. */
#pragma once

#include "base/float16.h"

/* Reads the lower four bits. */
static inline float rungi_f4e2m1_to_f32(uint8_t bits)
{
    static const float values[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    float value = values[bits & 7u];
    return bits & 8u ? -value : value;
}

/* Rounds to nearest, ties to the even code. Numbers beyond 6, infinities and NaNs become 6, as with CUDA's satfinite. */
static inline uint8_t rungi_f4e2m1_from_f32(float value)
{
    float size = value < 0 ? -value : value;
    uint32_t sign = rungi_f32_to_bits(value) >> 28 & 8u;
    if (size != size)
        return 7;
    return (uint8_t)(sign | (uint32_t)((size > 0.25f) + (size >= 0.75f) + (size > 1.25f) + (size >= 1.75f) +
                                       (size > 2.5f) + (size >= 3.5f) + (size > 5)));
}

/* 2^(bits - 127); 255 is the NaN. */
static inline float rungi_e8m0_to_f32(uint8_t bits)
{
    if (bits == 255)
        return rungi_f32_from_bits(0x7fc00000u);
    return rungi_f32_from_bits(bits == 0 ? 0x00400000u : (uint32_t)bits << 23); /* 2^-127 is denormal */
}

/* Rounds down to a power of two. Numbers below 2^-127 become 2^-127, infinities 2^127, negative numbers and NaNs the NaN. */
static inline uint8_t rungi_e8m0_from_f32(float value)
{
    uint32_t bits = rungi_f32_to_bits(value) & 0x7fffffffu; /* -0 is 0 */
    if (!(value >= 0))
        return 255;
    return (uint8_t)(bits >> 23 < 254u ? bits >> 23 : 254u); /* denormal numbers from 2^-127 on round down to it */
}
