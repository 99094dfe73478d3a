/* SPDX-License-Identifier: Apache-2.0 */
/* instruction_table.h - finds the row of instructions.def that an opcode with its modifiers matches. */
#pragma once

#include "base/string_view.h"
#include "rung/emulator.h"

enum { PTX_MODIFIERS_MAX = 24 };

typedef struct ptx_table_row {
    rung_emulator_instruction entry; /* the public part */
    const char *operands, *executor;
} ptx_table_row_t;

/* An opcode as written: add.rn.f32 has the modifiers rn and f32. */
typedef struct ptx_opcode {
    rungi_string_view name;
    rungi_string_view modifiers[PTX_MODIFIERS_MAX];
    int modifier_count;
} ptx_opcode_t;

/* A row and what each of its slots matched. */
typedef struct ptx_match {
    int row;
    int slot_count;
    struct {
        rungi_string_view name, value;
    } slots[PTX_MODIFIERS_MAX];
    int rest; /* index of the first modifier that "*" matched; modifier_count if the row has no "*" */
} ptx_match_t;

int rungi_ptx_table_row_count(void);
const ptx_table_row_t *rungi_ptx_table_row(int row);

/* Finds the first row that matches. Returns false if there is none; then `row` is that of the opcode's first row, or -1
 * if PTX has no such opcode. */
bool rungi_ptx_table_find(const ptx_opcode_t *opcode, ptx_match_t *match);

/* Writes which forms a statement without a row is closest to, as "valid is add.sat.s32". */
void rungi_ptx_table_nearest(const ptx_opcode_t *opcode, char *to, size_t size);

/* Returns what a slot matched; a view of length 0 if the slot is absent. */
rungi_string_view rungi_ptx_match_slot(const ptx_match_t *match, const char *name);
bool rungi_ptx_match_has(const ptx_match_t *match, const char *name);
bool rungi_ptx_match_is(const ptx_match_t *match, const char *name, const char *value);
