/* SPDX-License-Identifier: Apache-2.0 */
/* address_origins.c - finds the shared array that the address of an access is computed from, and the instruction that computes
 * the address.
 *
 * An array in shared memory is a name in the PTX text. A sum of this name and of numbers is an address in the array, whatever
 * the numbers are: an access outside of the array is a mistake, even if another array is there. A register has an origin if all
 * its definitions have the same one. The assumption that registers have none yet is changed until all instructions agree. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "emulator/ptx/address_effects.h"
#include "emulator/ptx/instruction_table.h"
#include "emulator/ptx/parser.h"

enum { PASSES_MAX = 100 };

/* What a register holds: the values in this order, then the number of an array plus FIRST_ARRAY. */
typedef int32_t origin_t;
enum { UNSEEN, NUMBER, MIXED, FIRST_ARRAY };

/* A constant that is the address of an array. */
typedef struct named_constant {
    int64_t constant; /* byte offset in the constants */
    int32_t variable;
} named_constant_t;

typedef struct search {
    ptx_parser_t *parser;
    const named_constant_t *constants; /* sorted */
    int32_t constant_count;
    const ptx_function_t *function;
    int32_t slot_count;
    origin_t *origins;
    int32_t *definitions; /* index of the only definition; -1: none, -2: several */
    bool has_changed;
} search_t;

/* Returns the array whose address is a constant; NUMBER if it is a plain number. */
static origin_t origin_of_constant(const search_t *search, ptx_operand_t operand)
{
    int64_t constant = (int64_t)(operand & ~(ptx_operand_t)PTX_BASE_MASK);
    int32_t low = 0, high = search->constant_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (search->constants[middle].constant < constant)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_found = low < search->constant_count && search->constants[low].constant == constant;
    return is_found ? FIRST_ARRAY + search->constants[low].variable : NUMBER;
}

static origin_t origin_of(const search_t *search, ptx_operand_t operand)
{
    if (operand == 0 || (operand & PTX_BASE_MASK) == PTX_BASE_SPECIAL)
        return NUMBER;
    if ((operand & PTX_BASE_MASK) == PTX_BASE_CONSTANT)
        return origin_of_constant(search, operand);
    return rungi_ptx_slot(operand) < search->slot_count ? search->origins[rungi_ptx_slot(operand)] : MIXED;
}

/* Returns the origin of a register that has one of two values. */
static origin_t join(origin_t x, origin_t y)
{
    return x == UNSEEN ? y : y == UNSEEN || x == y ? x : MIXED;
}

/* Returns the origin of a sum. */
static origin_t add(origin_t x, origin_t y)
{
    if (x == UNSEEN || y == UNSEEN)
        return UNSEEN;
    return x == NUMBER ? y : y == NUMBER ? x : MIXED;
}

/* Returns the origin of what is computed from other values in any way. */
static origin_t mix(origin_t x, origin_t y)
{
    if (x == UNSEEN || y == UNSEEN)
        return UNSEEN;
    return x == NUMBER && y == NUMBER ? NUMBER : MIXED;
}

static bool is_load(const ptx_instruction_t *instruction)
{
    static const char *const opcodes[] = {"ld", "ldu", "atom", "ldmatrix", "wmma", "mma", "wgmma"};
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (strcmp(rungi_ptx_table_row(instruction->row)->entry.opcode, opcodes[i]) == 0)
            return true;
    return false;
}

static origin_t mix_all(const search_t *search, const ptx_instruction_t *instruction)
{
    origin_t mixed = NUMBER;
    if (is_load(instruction)) /* what memory holds is a number */
        return NUMBER;
    for (int i = 1; i < PTX_OPERANDS_MAX; i++)
        mixed = mix(mixed, origin_of(search, instruction->operand[i]));
    for (int32_t i = 0; i < instruction->list_length; i++)
        mixed = mix(mixed, origin_of(search, instruction->list[i]));
    return mixed;
}

static origin_t origin_of_result(const search_t *search, const ptx_instruction_t *instruction)
{
    ptx_effect_t effect = rungi_ptx_effect(instruction);
    origin_t a = origin_of(search, instruction->operand[1]), b = origin_of(search, instruction->operand[2]);
    bool is_choice = strcmp(rungi_ptx_table_row(instruction->row)->entry.opcode, "xor") != 0;
    switch (effect) {
    case PTX_EFFECT_COPY: return a;
    case PTX_EFFECT_ADD:
    case PTX_EFFECT_AND:
    case PTX_EFFECT_OR: return add(a, b);
    case PTX_EFFECT_SUBTRACT: return b == NUMBER ? a : mix(a, b);
    case PTX_EFFECT_MULTIPLY_ADD: return mix(a, b) == NUMBER ? origin_of(search, instruction->operand[3]) : mix(a, b);
    case PTX_EFFECT_EITHER: return is_choice ? join(a, b) : add(a, b);
    default: return mix_all(search, instruction);
    }
}

static void note_definition(void *user, ptx_operand_t operand, const ptx_instruction_t *instruction)
{
    search_t *search = user;
    if (!rungi_ptx_is_register(operand) || rungi_ptx_slot(operand) >= search->slot_count)
        return;
    int32_t *definition = &search->definitions[rungi_ptx_slot(operand)];
    *definition = *definition == -1 ? (int32_t)(instruction - search->parser->module->instructions) : -2;
}

static void define(void *user, ptx_operand_t operand, const ptx_instruction_t *instruction)
{
    search_t *search = user;
    if (!rungi_ptx_is_register(operand) || rungi_ptx_slot(operand) >= search->slot_count)
        return;
    origin_t *origin = &search->origins[rungi_ptx_slot(operand)];
    origin_t result = operand == instruction->operand[0] ? origin_of_result(search, instruction)
                                                         : mix_all(search, instruction);
    origin_t joined = join(*origin, result);
    search->has_changed = search->has_changed || joined != *origin;
    *origin = joined;
}

/* Returns the index of the operand that is the address; -1 if the instruction has none that is searched for. */
static int address_index(const ptx_instruction_t *instruction)
{
    const rung_emulator_instruction *entry = &rungi_ptx_table_row(instruction->row)->entry;
    bool is_shared = instruction->space == PTX_SPACE_SHARED || instruction->space == PTX_SPACE_GENERIC;
    if (strcmp(entry->opcode, "ld") == 0 || strcmp(entry->opcode, "st") == 0)
        return is_shared || instruction->space == PTX_SPACE_GLOBAL ? 0 : -1;
    if (strcmp(entry->opcode, "atom") == 0 || strcmp(entry->opcode, "red") == 0)
        return is_shared || instruction->space == PTX_SPACE_GLOBAL ? 1 : -1;
    if (strcmp(entry->opcode, "cp") == 0 && strcmp(rungi_ptx_table_row(instruction->row)->executor, "@cp_async") == 0)
        return 0;
    return -1;
}

static void set_array(const search_t *search, ptx_instruction_t *instruction, origin_t origin)
{
    const ptx_shared_variable_t *variables = search->parser->shared_variables.data;
    if (origin < FIRST_ARRAY)
        return;
    const ptx_shared_variable_t *variable = &variables[origin - FIRST_ARRAY];
    if (variable->is_dynamic)
        return;
    instruction->array_first = (int32_t)variable->offset;
    instruction->array_end = (int32_t)(variable->offset + variable->bytes);
}

static void set_instructions(const search_t *search)
{
    const ptx_shared_reference_t *references = search->parser->shared_references.data;
    ptx_instruction_t *instructions = search->parser->module->instructions;
    for (int32_t i = search->function->first; i < search->function->end; i++) {
        int index = address_index(&instructions[i]);
        ptx_operand_t operand = index >= 0 ? instructions[i].operand[index] : 0;
        if (!rungi_ptx_is_register(operand) || rungi_ptx_slot(operand) >= search->slot_count)
            continue;
        instructions[i].address_definition = search->definitions[rungi_ptx_slot(operand)];
        set_array(search, &instructions[i], origin_of(search, operand));
    }
    for (int32_t i = 0; i < search->parser->shared_references.count; i++) { /* addresses that are a name */
        int32_t index = references[i].instruction;
        if (index >= search->function->first && index < search->function->end && !references[i].is_second_offset &&
            address_index(&instructions[index]) >= 0)
            set_array(search, &instructions[index], FIRST_ARRAY + references[i].variable);
    }
}

static bool search_function(search_t *search)
{
    const ptx_instruction_t *instructions = search->parser->module->instructions;
    size_t slots = (size_t)(search->function->frame_bytes / PTX_SLOT_BYTES + 1);
    search->slot_count = (int32_t)slots;
    search->origins = calloc(slots, sizeof *search->origins);
    search->definitions = malloc(slots * sizeof *search->definitions);
    bool has_memory = search->origins && search->definitions;
    if (has_memory) {
        memset(search->definitions, 0xff, slots * sizeof *search->definitions);
        for (int32_t i = search->function->first; i < search->function->end; i++)
            rungi_ptx_for_destinations(search, &instructions[i], note_definition);
        search->has_changed = search->constant_count > 0;
        for (int pass = 0; search->has_changed && pass < PASSES_MAX; pass++) {
            search->has_changed = false;
            for (int32_t i = search->function->first; i < search->function->end; i++)
                rungi_ptx_for_destinations(search, &instructions[i], define);
        }
        if (search->has_changed) /* nothing is known without agreement */
            memset(search->origins, 0, slots * sizeof *search->origins);
        set_instructions(search);
    }
    free(search->origins);
    free(search->definitions);
    return has_memory;
}

/* Lists the constants that are addresses of arrays. They were added in the order of their offsets. */
static int32_t list_constants(const ptx_parser_t *parser, named_constant_t *constants)
{
    const ptx_shared_reference_t *references = parser->shared_references.data;
    int32_t count = 0;
    for (int32_t i = 0; i < parser->shared_references.count; i++)
        if (references[i].instruction < 0)
            constants[count++] = (named_constant_t){references[i].constant, references[i].variable};
    return count;
}

rung_status rungi_ptx_find_origins(ptx_parser_t *parser)
{
    ptx_module_t *module = parser->module;
    named_constant_t *constants = malloc(((size_t)parser->shared_references.count + 1) * sizeof *constants);
    bool has_memory = constants != NULL;
    int32_t count = has_memory ? list_constants(parser, constants) : 0;
    for (int32_t i = 0; i < module->instruction_count; i++)
        module->instructions[i].address_definition = -1;
    for (int32_t i = 0; has_memory && i < module->function_count; i++) {
        search_t search = {
            .parser = parser, .constants = constants, .constant_count = count, .function = &module->functions[i]};
        has_memory = module->functions[i].end <= module->functions[i].first || search_function(&search);
    }
    free(constants);
    return has_memory ? RUNG_OK : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the registers of a PTX module");
}
