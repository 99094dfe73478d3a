/* SPDX-License-Identifier: Apache-2.0 */
/* ggml_blocks.h - the blocks of GGML's formats Q8_0 and Q4_0: 32 elements and an F16 scale. The bytes are those of GGML's
 * reference quantization. */
#pragma once

#include <stdint.h>

enum { RUNGI_GGML_BLOCK_ELEMENTS = 32 };

typedef struct rungi_q8_0_block {
    uint16_t scale; /* F16 */
    int8_t elements[RUNGI_GGML_BLOCK_ELEMENTS];
} rungi_q8_0_block;

/* Elements i and i + 16 share a byte; element i is in the lower half. 8 is subtracted from each. */
typedef struct rungi_q4_0_block {
    uint16_t scale;
    uint8_t pairs[RUNGI_GGML_BLOCK_ELEMENTS / 2];
} rungi_q4_0_block;

_Static_assert(sizeof(rungi_q8_0_block) == 34 && sizeof(rungi_q4_0_block) == 18, "the formats have no padding");

/* Convert 32 finite values. */
void rungi_q8_0_quantize(const float *values, rungi_q8_0_block *block);
void rungi_q4_0_quantize(const float *values, rungi_q4_0_block *block);
void rungi_q8_0_dequantize(const rungi_q8_0_block *block, float *values);
void rungi_q4_0_dequantize(const rungi_q4_0_block *block, float *values);
