/* SPDX-License-Identifier: Apache-2.0 */
/* combinations.h - expands a row of instructions.def into every combination of its modifiers and optional operands, and
 * writes a kernel for each. */
#pragma once

#include <stddef.h>

#include "types.h"

typedef struct row {
    const char *opcode, *modifiers, *operands, *executor, *support;
} row_t;

enum { SLOTS_MAX = 12, OPERANDS_MAX = 8, SOURCES_MAX = 5, RESULTS_MAX = 3 };

typedef struct operand {
    type_t type;
    bool is_destination, is_negated, is_second; /* a second destination follows "|" */
    bool is_table;                              /* immediate of lop3 */
    int register_bits;
} operand_t;

typedef struct combination {
    const row_t *row;
    char text[96]; /* add.rn.f32 */
    struct {
        char name[16], value[20];
    } slots[SLOTS_MAX];
    int slot_count;
    operand_t operands[OPERANDS_MAX];
    int operand_count;
    type_t type, stype;      /* of the slots with these names */
    bool has_wide_registers; /* registers are wider than the types, which cvt allows */
    uint32_t table;          /* of lop3 */
    bool reads_carry, writes_carry;
} combination_t;

/* Calls `use` for each combination of a row. Stops if it returns false. Returns false if the row cannot be read. */
bool combinations_of(const row_t *row, bool (*use)(void *context, const combination_t *combination), void *context);

/* Returns what a slot holds; "" if it is absent. */
const char *slot_value(const combination_t *combination, const char *name);
bool slot_is(const combination_t *combination, const char *name, const char *value);
static inline bool slot_has(const combination_t *combination, const char *name)
{
    return *slot_value(combination, name) != 0;
}

/* Writes a kernel. Its parameters are the addresses of SOURCES_MAX arrays of sources and RESULTS_MAX arrays of results,
 * of 8 bytes per element, and the number of elements. Thread i of an odd warp exits first if i % 3 is 0. Sources are
 * in the order of the text; then comes the carry, if the instruction reads it. Results alike. Returns the length. */
size_t combination_kernel(const combination_t *combination, const char *name, char *to, size_t size);
