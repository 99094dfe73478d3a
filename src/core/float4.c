/* SPDX-License-Identifier: Apache-2.0 */
/* float4.c - the public functions that convert F4E2M1 and E8M0. */
#include "base/float4.h"

#include "rung/rung.h"

float rung_f4e2m1_to_f32(uint8_t bits)
{
    return rungi_f4e2m1_to_f32(bits);
}

uint8_t rung_f4e2m1_from_f32(float value)
{
    return rungi_f4e2m1_from_f32(value);
}

float rung_e8m0_to_f32(uint8_t bits)
{
    return rungi_e8m0_to_f32(bits);
}

uint8_t rung_e8m0_from_f32(float value)
{
    return rungi_e8m0_from_f32(value);
}
