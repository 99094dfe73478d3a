/* SPDX-License-Identifier: Apache-2.0 */
/* instruction_table.c - see instruction_table.h. */
#include "emulator/ptx/instruction_table.h"

#include <string.h>

#include "emulator/ptx/module.h"

static const ptx_table_row_t rows[] = {
#define INSTRUCTION(opcode, modifiers, operands, executor, support, note) \
    {{opcode, modifiers, RUNG_EMULATOR_##support, note}, operands, executor},
#include "emulator/ptx/instructions.def"
#undef INSTRUCTION
};

int rungi_ptx_table_row_count(void)
{
    return (int)(sizeof rows / sizeof *rows);
}

const ptx_table_row_t *rungi_ptx_table_row(int row)
{
    return &rows[row];
}

int64_t rung_emulator_instruction_count(void)
{
    return rungi_ptx_table_row_count();
}

const rung_emulator_instruction *rung_emulator_instruction_at(int64_t index)
{
    return index >= 0 && index < rungi_ptx_table_row_count() ? &rows[index].entry : NULL;
}

/* One slot of a pattern. */
typedef struct slot {
    rungi_string_view name, alternatives; /* without alternatives, the name is the only one */
    bool is_optional, is_rest;
} slot_t;

static const char *find_any(const char *text, const char *end, const char *characters)
{
    while (text < end && !strchr(characters, *text))
        text++;
    return text;
}

/* Reads the slot at `*pattern` and moves to the next one. Returns false at the end. */
static bool next_slot(const char **pattern, slot_t *slot)
{
    const char *start = *pattern + strspn(*pattern, " ");
    const char *end = start + strcspn(start, " ");
    if (start == end)
        return false;
    const char *name_end = find_any(start, end, "?:");
    const char *colon = find_any(start, end, ":");
    slot->name = rungi_string_view_of(start, (size_t)(name_end - start));
    slot->is_optional = name_end < end && *name_end == '?';
    slot->is_rest = *start == '*';
    slot->alternatives = colon < end ? rungi_string_view_of(colon + 1, (size_t)(end - colon - 1)) : slot->name;
    *pattern = end;
    return true;
}

static bool are_equal(rungi_string_view x, rungi_string_view y)
{
    return x.length == y.length && memcmp(x.text, y.text, x.length) == 0;
}

static bool accepts(const slot_t *slot, rungi_string_view modifier)
{
    const char *at = slot->alternatives.text, *end = at + slot->alternatives.length;
    while (at < end) {
        const char *bar = find_any(at, end, "|");
        if (are_equal(rungi_string_view_of(at, (size_t)(bar - at)), modifier))
            return true;
        at = bar + 1;
    }
    return false;
}

static bool matches_row(const ptx_opcode_t *opcode, int row, ptx_match_t *match)
{
    const char *pattern = rows[row].entry.modifiers;
    slot_t slot;
    int next = 0;
    *match = (ptx_match_t){.row = row, .rest = opcode->modifier_count};
    while (next_slot(&pattern, &slot)) {
        if (slot.is_rest) {
            match->rest = next;
            return true;
        }
        if (next < opcode->modifier_count && accepts(&slot, opcode->modifiers[next])) {
            match->slots[match->slot_count].name = slot.name;
            match->slots[match->slot_count++].value = opcode->modifiers[next++];
        } else if (!slot.is_optional) {
            return false;
        }
    }
    return next == opcode->modifier_count;
}

/* Modifiers of one class keep their order: types, layouts and spaces say which operand they are about. */
typedef enum modifier_class { CLASS_TYPE, CLASS_LAYOUT, CLASS_SPACE, CLASS_OTHER, CLASS_COUNT } modifier_class_t;

static modifier_class_t class_of(rungi_string_view modifier)
{
    static const slot_t spaces = {.alternatives = {"global|shared|shared::cta|shared::cluster|local|const|param", 59}};
    static const slot_t layouts = {.alternatives = {"row|col", 7}};
    return rungi_ptx_type_of(modifier)   ? CLASS_TYPE
           : accepts(&layouts, modifier) ? CLASS_LAYOUT
           : accepts(&spaces, modifier)  ? CLASS_SPACE
                                         : CLASS_OTHER;
}

/* Returns the first modifier that the slot accepts and that no other slot has taken, or -1. */
static int find_modifier(const ptx_opcode_t *opcode, const slot_t *slot, uint32_t taken)
{
    for (int i = 0; i < opcode->modifier_count; i++)
        if (!(taken >> i & 1) && accepts(slot, opcode->modifiers[i]))
            return i;
    return -1;
}

/* Matches a row whose modifiers are written in another order than the manual's. ptxas allows that, and CUTLASS writes
 * ldmatrix.sync.aligned.x4.m8n8.shared.b16. */
static bool matches_row_in_any_order(const ptx_opcode_t *opcode, int row, ptx_match_t *match)
{
    const char *pattern = rows[row].entry.modifiers;
    slot_t slot;
    uint32_t taken = 0;
    int last[CLASS_COUNT] = {-1, -1, -1, -1};
    *match = (ptx_match_t){.row = row, .rest = opcode->modifier_count};
    while (next_slot(&pattern, &slot)) {
        int index = slot.is_rest ? -1 : find_modifier(opcode, &slot, taken);
        if (index < 0 && !slot.is_optional)
            return false;
        if (index < 0)
            continue;
        modifier_class_t class = class_of(opcode->modifiers[index]);
        if (class != CLASS_OTHER && index < last[class])
            return false;
        last[class] = index;
        taken |= 1u << index;
        match->slots[match->slot_count].name = slot.name;
        match->slots[match->slot_count++].value = opcode->modifiers[index];
    }
    return taken == (1u << opcode->modifier_count) - 1;
}

bool rungi_ptx_table_find(const ptx_opcode_t *opcode, ptx_match_t *match)
{
    int first = -1;
    for (int pass = 0; pass < 2; pass++)
        for (int row = 0; row < rungi_ptx_table_row_count(); row++) {
            if (!rungi_string_view_equals(opcode->name, rows[row].entry.opcode))
                continue;
            if (first < 0)
                first = row;
            if (pass == 0 ? matches_row(opcode, row, match) : matches_row_in_any_order(opcode, row, match))
                return true;
        }
    match->row = first;
    return false;
}

rungi_string_view rungi_ptx_match_slot(const ptx_match_t *match, const char *name)
{
    for (int i = 0; i < match->slot_count; i++)
        if (rungi_string_view_equals(match->slots[i].name, name))
            return match->slots[i].value;
    return (rungi_string_view){"", 0};
}

bool rungi_ptx_match_has(const ptx_match_t *match, const char *name)
{
    return rungi_ptx_match_slot(match, name).length > 0;
}

bool rungi_ptx_match_is(const ptx_match_t *match, const char *name, const char *value)
{
    return rungi_string_view_equals(rungi_ptx_match_slot(match, name), value);
}
