/* SPDX-License-Identifier: Apache-2.0 */
/* ggml_blocks.c - see ggml_blocks.h. */
#include "base/ggml_blocks.h"

#include <math.h>

#include "base/float16.h"

enum { COUNT = RUNGI_GGML_BLOCK_ELEMENTS, HALF = COUNT / 2 };

/* Returns the value of largest magnitude; the first one of several. */
static float largest_value(const float *values)
{
    float largest = 0;
    for (int i = 0; i < COUNT; i++)
        if (fabsf(values[i]) > fabsf(largest))
            largest = values[i];
    return largest;
}

/* Returns 1 / scale, or 0 if that is not a number: the F16 scale is 0 then. */
static float invert(float scale)
{
    float inverse = scale != 0 ? 1 / scale : 0;
    return isfinite(inverse) ? inverse : 0;
}

/* The elements are multiples of the scale before it is rounded to F16. */
void rungi_q8_0_quantize(const float *values, rungi_q8_0_block *block)
{
    float scale = fabsf(largest_value(values)) / 127, inverse = invert(scale);
    block->scale = rungi_f16_from_f32(scale);
    for (int i = 0; i < COUNT; i++)
        block->elements[i] = (int8_t)roundf(values[i] * inverse);
}

/* Rounds to 0 ... 15, halves up. */
static uint8_t round_to_four_bits(float multiple)
{
    int rounded = (int)(multiple + 8.5f);
    return (uint8_t)(rounded < 15 ? rounded : 15);
}

/* The scale has the opposite sign of the largest value, which becomes -8: positive multiples end at 7. */
void rungi_q4_0_quantize(const float *values, rungi_q4_0_block *block)
{
    float scale = largest_value(values) / -8, inverse = invert(scale);
    block->scale = rungi_f16_from_f32(scale);
    for (int i = 0; i < HALF; i++) {
        uint8_t low = round_to_four_bits(values[i] * inverse), high = round_to_four_bits(values[i + HALF] * inverse);
        block->pairs[i] = (uint8_t)(low | high << 4);
    }
}

void rungi_q8_0_dequantize(const rungi_q8_0_block *block, float *values)
{
    float scale = rungi_f16_to_f32(block->scale);
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)block->elements[i] * scale;
}

void rungi_q4_0_dequantize(const rungi_q4_0_block *block, float *values)
{
    float scale = rungi_f16_to_f32(block->scale);
    for (int i = 0; i < HALF; i++) {
        values[i] = (float)((block->pairs[i] & 15) - 8) * scale;
        values[i + HALF] = (float)((block->pairs[i] >> 4) - 8) * scale;
    }
}
