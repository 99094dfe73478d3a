/* SPDX-License-Identifier: Apache-2.0 */
/* instruction_table.c - see instruction_table.h. */
#include "emulator/ptx/instruction_table.h"

#include <limits.h>
#include <stdio.h>
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

/* ---- The nearest row ----------------------------------------------------------------------------------------------- */

/* Returns the number of modifiers that a row does not accept, plus those that it needs besides. A type that a row does not
 * accept counts twice: types say more than anything else which form was meant. INT_MAX: the row is no candidate. */
static int distance_to(const ptx_opcode_t *opcode, int row)
{
    const char *pattern = rows[row].entry.modifiers;
    slot_t slot;
    uint32_t taken = 0;
    int missing = 0; /* and rejected */
    if (!rungi_string_view_equals(opcode->name, rows[row].entry.opcode) ||
        rows[row].entry.support == RUNG_EMULATOR_REFUSED || strchr(pattern, '*'))
        return INT_MAX;
    while (next_slot(&pattern, &slot)) {
        int index = find_modifier(opcode, &slot, taken);
        if (index >= 0)
            taken |= 1u << index;
        else
            missing += !slot.is_optional;
    }
    for (int i = 0; i < opcode->modifier_count; i++)
        if (!(taken >> i & 1))
            missing += rungi_ptx_type_of(opcode->modifiers[i]) ? 2 : 1;
    return missing;
}

/* Writes a row as docs/reference/ptx.md does: [.sat] is optional, .{lo/hi} is a choice. Returns the length. */
static size_t write_form(int row, char *to, size_t size)
{
    const char *pattern = rows[row].entry.modifiers;
    slot_t slot;
    size_t length = (size_t)snprintf(to, size, "%s", rows[row].entry.opcode);
    while (length < size && next_slot(&pattern, &slot)) {
        bool is_choice = memchr(slot.alternatives.text, '|', slot.alternatives.length) != NULL;
        length += (size_t)snprintf(to + length, size - length, "%s.%s", slot.is_optional ? "[" : "",
                                   is_choice ? "{" : "");
        for (size_t i = 0; i < slot.alternatives.length && length + 1 < size; i++)
            to[length++] = (char)(slot.alternatives.text[i] == '|' ? '/' : slot.alternatives.text[i]);
        if (length < size)
            length += (size_t)snprintf(to + length, size - length, "%s%s", is_choice ? "}" : "",
                                       slot.is_optional ? "]" : "");
    }
    return length < size ? length : size - 1;
}

void rungi_ptx_table_nearest(const ptx_opcode_t *opcode, char *to, size_t size)
{
    int least = INT_MAX;
    size_t length = 0;
    for (int row = 0; row < rungi_ptx_table_row_count(); row++)
        if (distance_to(opcode, row) < least)
            least = distance_to(opcode, row);
    *to = 0;
    for (int row = 0, forms = 0; least < INT_MAX && forms < 2 && row < rungi_ptx_table_row_count(); row++)
        if (distance_to(opcode, row) == least) {
            length += (size_t)snprintf(to + length, size - length, "%s", forms++ ? " or " : "valid is ");
            length = length < size ? length : size - 1;
            length += write_form(row, to + length, size - length);
        }
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
