/* SPDX-License-Identifier: Apache-2.0 */
/* mmla_bf16.c - tiles of BF16 by BFMMLA. See docs/internals/decisions/0061 for its rounding. */
#include <arm_neon.h>

#define TILE_FUNCTION rungi_mmla_tile_bf16
#define SUM float32x4_t
#define INPUT bfloat16x8_t
#define MULTIPLY(sum, a, b) sum = vbfmmlaq_f32(sum, a, b)
#include "cpu/mmla/mmla_tile.h"
