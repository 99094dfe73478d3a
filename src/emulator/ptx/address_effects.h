/* SPDX-License-Identifier: Apache-2.0 */
/* address_effects.h - what instructions do to addresses in registers, for the analyses before a kernel runs. */
#pragma once

#include "emulator/ptx/module.h"

enum { PTX_SLOT_BYTES = 64 }; /* a register begins in a slot of the frame */

typedef enum ptx_effect {
    PTX_EFFECT_OTHER,
    PTX_EFFECT_COPY,
    PTX_EFFECT_ADD,
    PTX_EFFECT_SUBTRACT,
    PTX_EFFECT_MULTIPLY,
    PTX_EFFECT_MULTIPLY_ADD,
    PTX_EFFECT_SHIFT_LEFT,
    PTX_EFFECT_SHIFT_RIGHT,
    PTX_EFFECT_AND,
    PTX_EFFECT_OR,
    PTX_EFFECT_EITHER /* one of two values, or bits of both: xor, selp, min, max */
} ptx_effect_t;

ptx_effect_t rungi_ptx_effect(const ptx_instruction_t *instruction);

/* Calls `visit` for each register that an instruction may write, except for predicates of a second result. */
void rungi_ptx_for_destinations(void *user, const ptx_instruction_t *instruction,
                                void (*visit)(void *user, ptx_operand_t operand, const ptx_instruction_t *instruction));

static inline bool rungi_ptx_is_register(ptx_operand_t operand)
{
    return operand != 0 && (operand & PTX_BASE_MASK) == PTX_BASE_FRAME;
}

static inline int32_t rungi_ptx_slot(ptx_operand_t operand)
{
    return (int32_t)(operand / PTX_SLOT_BYTES);
}
