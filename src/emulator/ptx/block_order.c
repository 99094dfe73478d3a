/* SPDX-License-Identifier: Apache-2.0 */
/* block_order.c - finds the kernels whose results may depend on the order of their blocks.
 *
 * Atomics of blocks on several threads take part in any order. The sum of floats depends on the order, and so does the
 * old value that an atomic returns. Such kernels run their blocks in order, so that results are the same with any number
 * of threads. Integer atomics whose old value nobody reads do not depend on the order. */
#include <string.h>

#include "emulator/ptx/atomic_operations.h"
#include "emulator/ptx/parser.h"

/* Returns whether another instruction mentions the register that an atomic returns its old value in. */
static bool is_result_used(const ptx_parser_t *parser, int32_t index)
{
    ptx_operand_t result = ((const ptx_instruction_t *)parser->instructions.data)[index].operand[0];
    const ptx_mention_t *mentions = parser->mentions.data;
    bool is_used = parser->lacks_mentions;
    for (int32_t i = 0; result && i < parser->mentions.count && !is_used; i++)
        is_used = mentions[i].operand == result && mentions[i].instruction != index;
    return result && is_used;
}

/* Returns whether an instruction's result depends on what blocks did before. */
static bool depends_on_order(const ptx_parser_t *parser, int32_t index)
{
    const ptx_instruction_t *instruction = (const ptx_instruction_t *)parser->instructions.data + index;
    const rung_emulator_instruction *entry = &rungi_ptx_table_row(instruction->row)->entry;
    bool is_bulk = strcmp(entry->opcode, "cp") == 0 && strncmp(entry->modifiers, "reduce", 6) == 0;
    if (strcmp(entry->opcode, "atom") != 0 && strcmp(entry->opcode, "red") != 0 && !is_bulk)
        return false;
    if (instruction->space == PTX_SPACE_SHARED || instruction->space == PTX_SPACE_LOCAL)
        return false;
    ptx_type_kind_t kind = rungi_ptx_type_kind((ptx_type_t)instruction->type);
    bool is_commutative = instruction->operation <= PTX_ATOMIC_MAX ||
                          (instruction->operation >= PTX_ATOMIC_AND && instruction->operation <= PTX_ATOMIC_XOR);
    return kind == PTX_KIND_FLOAT || kind == PTX_KIND_PACKED || is_bulk || !is_commutative ||
           is_result_used(parser, index);
}

/* A call through a register may reach every function. */
static bool calls_anything(const ptx_parser_t *parser, const ptx_function_t *function)
{
    const ptx_instruction_t *instructions = parser->instructions.data;
    for (int32_t i = function->first; i < function->end; i++)
        if (instructions[i].control == PTX_CONTROL_CALL && instructions[i].target < 0)
            return true;
    return false;
}

/* An exchange whose old value nobody reads is a store: it has no result then. */
static void drop_unused_result(const ptx_parser_t *parser, int32_t index)
{
    ptx_instruction_t *instruction = (ptx_instruction_t *)parser->instructions.data + index;
    const rung_emulator_instruction *entry = &rungi_ptx_table_row(instruction->row)->entry;
    if (strcmp(entry->opcode, "atom") == 0 && instruction->operation == PTX_ATOMIC_EXCHANGE &&
        !is_result_used(parser, index))
        instruction->operand[0] = 0;
}

void rungi_ptx_find_block_order(ptx_parser_t *parser)
{
    ptx_function_t *functions = parser->functions.data;
    const ptx_call_t *calls = parser->calls.data;
    bool is_needed = false, has_changed = true;
    for (int32_t i = 0; i < parser->instructions.count; i++)
        drop_unused_result(parser, i);
    for (int32_t i = 0; i < parser->functions.count; i++)
        for (int32_t k = functions[i].first; k < functions[i].end && !functions[i].needs_block_order; k++)
            functions[i].needs_block_order = depends_on_order(parser, k);
    for (int32_t i = 0; i < parser->functions.count; i++)
        is_needed = is_needed || functions[i].needs_block_order;
    for (int32_t i = 0; i < parser->functions.count && is_needed; i++)
        functions[i].needs_block_order = functions[i].needs_block_order || calls_anything(parser, &functions[i]);
    while (is_needed && has_changed) { /* from callees to callers */
        has_changed = false;
        for (int32_t i = 0; i < parser->calls.count; i++)
            if (functions[calls[i].callee].needs_block_order && !functions[calls[i].caller].needs_block_order)
                has_changed = functions[calls[i].caller].needs_block_order = true;
    }
}
