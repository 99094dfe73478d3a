/* SPDX-License-Identifier: Apache-2.0 */
/* float16.c - the public functions that convert 16-bit types. */
#include "base/float16.h"

#include "rung/rung.h"

float rung_f16_to_f32(uint16_t bits)
{
    return rungi_f16_to_f32(bits);
}

uint16_t rung_f16_from_f32(float value)
{
    return rungi_f16_from_f32(value);
}

float rung_bf16_to_f32(uint16_t bits)
{
    return rungi_bf16_to_f32(bits);
}

uint16_t rung_bf16_from_f32(float value)
{
    return rungi_bf16_from_f32(value);
}
