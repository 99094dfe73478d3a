/* SPDX-License-Identifier: Apache-2.0 */
/* address_effects.c - see address_effects.h. */
#include "emulator/ptx/address_effects.h"

#include <string.h>

#include "emulator/ptx/instruction_table.h"

ptx_effect_t rungi_ptx_effect(const ptx_instruction_t *instruction)
{
    static const struct {
        const char *opcode;
        ptx_effect_t effect;
    } effects[] = {{"mov", PTX_EFFECT_COPY},         {"cvt", PTX_EFFECT_COPY},       {"cvta", PTX_EFFECT_COPY},
                   {"add", PTX_EFFECT_ADD},          {"sub", PTX_EFFECT_SUBTRACT},   {"mul", PTX_EFFECT_MULTIPLY},
                   {"mad", PTX_EFFECT_MULTIPLY_ADD}, {"shl", PTX_EFFECT_SHIFT_LEFT}, {"shr", PTX_EFFECT_SHIFT_RIGHT},
                   {"and", PTX_EFFECT_AND},          {"or", PTX_EFFECT_OR},          {"xor", PTX_EFFECT_EITHER},
                   {"selp", PTX_EFFECT_EITHER},      {"min", PTX_EFFECT_EITHER},     {"max", PTX_EFFECT_EITHER}};
    const ptx_table_row_t *row = rungi_ptx_table_row(instruction->row);
    ptx_type_kind_t kind = rungi_ptx_type_kind((ptx_type_t)instruction->type);
    ptx_type_kind_t source = rungi_ptx_type_kind((ptx_type_t)instruction->source_type);
    if (kind == PTX_KIND_FLOAT || kind == PTX_KIND_PACKED || source == PTX_KIND_FLOAT || instruction->list_length > 0)
        return PTX_EFFECT_OTHER;
    if (strstr(row->entry.modifiers, "half:hi") || instruction->operand[1] == 0)
        return PTX_EFFECT_OTHER;
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        if (strcmp(row->entry.opcode, effects[i].opcode) == 0)
            return effects[i].effect;
    return PTX_EFFECT_OTHER;
}

void rungi_ptx_for_destinations(void *user, const ptx_instruction_t *instruction,
                                void (*visit)(void *user, ptx_operand_t operand, const ptx_instruction_t *instruction))
{
    static const char none[] = " st red cp bra brx call ret exit bar barrier fence membar prefetch prefetchu stmatrix ";
    static const char list_only[] = " ld ldu ldmatrix ";
    const ptx_table_row_t *row = rungi_ptx_table_row(instruction->row);
    char name[32] = " ";
    strncat(name, row->entry.opcode, sizeof name - 3);
    strcat(name, " ");
    bool writes_list = strstr(list_only, name) != NULL, is_unknown = row->executor[0] == '@';
    if (strstr(none, name))
        return;
    if (writes_list || (is_unknown && instruction->list_length > 0))
        for (int32_t i = 0; i < instruction->list_length; i++)
            visit(user, instruction->list[i], instruction);
    if (writes_list)
        return;
    if (instruction->operand[0])
        visit(user, instruction->operand[0], instruction);
}
