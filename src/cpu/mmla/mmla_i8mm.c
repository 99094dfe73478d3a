/* SPDX-License-Identifier: Apache-2.0 */
/* mmla_i8mm.c - tiles of INT8 by SMMLA. Sums are modulo 2^32. */
#include <arm_neon.h>

#define TILE_FUNCTION rungi_mmla_tile_i8
#define SUM int32x4_t
#define INPUT int8x16_t
#define MULTIPLY(sum, a, b) sum = vmmlaq_s32(sum, a, b)
#include "cpu/mmla/mmla_tile.h"
