/* SPDX-License-Identifier: Apache-2.0 */
/* address_values.h - what is known about addresses before a kernel runs: sums of an unknown value and a constant, and
 * alignment. For merge_accesses.c. */
#pragma once

#include "emulator/ptx/module.h"

/* A value: one that is not known, plus an offset. Values of the same root differ by their offsets only. */
typedef struct ptx_value {
    int32_t root;  /* 0: no unknown part */
    int32_t zeros; /* lowest bits of the root that are 0 */
    int64_t offset;
} ptx_value_t;

typedef struct ptx_values ptx_values_t;

/* Analyses a function. NULL if memory is short. */
ptx_values_t *rungi_ptx_values_create(const ptx_module_t *module, const ptx_function_t *function);
void rungi_ptx_values_free(ptx_values_t *values);

/* Begins a basic block: what previous instructions computed is forgotten, except for registers that are written once. */
void rungi_ptx_values_begin_block(ptx_values_t *values);

/* Follows an instruction of the block. */
void rungi_ptx_values_execute(ptx_values_t *values, const ptx_instruction_t *instruction);

/* Returns the address of operand `index` plus the instruction's offset. */
ptx_value_t rungi_ptx_values_address(ptx_values_t *values, const ptx_instruction_t *instruction, int index);
