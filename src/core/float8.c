/* SPDX-License-Identifier: Apache-2.0 */
/* float8.c - the public functions that convert 8-bit floating-point types. */
#include "base/float8.h"

#include "rung/rung.h"

float rung_f8e4m3_to_f32(uint8_t bits)
{
    return rungi_f8e4m3_to_f32(bits);
}

uint8_t rung_f8e4m3_from_f32(float value)
{
    return rungi_f8e4m3_from_f32(value);
}

float rung_f8e5m2_to_f32(uint8_t bits)
{
    return rungi_f8e5m2_to_f32(bits);
}

uint8_t rung_f8e5m2_from_f32(float value)
{
    return rungi_f8e5m2_from_f32(value);
}
