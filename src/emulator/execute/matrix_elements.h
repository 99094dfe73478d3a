/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_elements.h - elements of matrix fragments in 32-bit registers, for execute_mma_forms.c. */
#pragma once

#include "emulator/execute/float_bits.h"
#include "emulator/ptx/module.h"

/* Element e of a 32-bit register, as a float. */
static inline float element_f32(uint32_t word, int e, ptx_type_t type)
{
    switch (type) {
    case PTX_F16: return f16_to_f32((uint16_t)(word >> 16 * e));
    case PTX_BF16: return bf16_to_f32((uint16_t)(word >> 16 * e));
    case PTX_TF32: return f32_of_bits(word & ~0x1fffu);
    case PTX_E4M3: return e4m3_to_f32(word >> 8 * e & 0xff);
    default: return e5m2_to_f32(word >> 8 * e & 0xff);
    }
}

static inline int32_t element_integer(uint32_t word, int e, ptx_type_t type)
{
    switch (type) {
    case PTX_S8: return (int8_t)(word >> 8 * e);
    case PTX_U8: return (uint8_t)(word >> 8 * e);
    case PTX_S4: return (int32_t)(word >> 4 * e << 28) >> 28;
    default: return (int32_t)(word >> 4 * e & 15);
    }
}
