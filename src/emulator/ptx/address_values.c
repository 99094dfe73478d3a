/* SPDX-License-Identifier: Apache-2.0 */
/* address_values.c - see address_values.h.
 *
 * Two analyses. Alignment: the number of low zero bits of each register, over all its definitions, wherever they are; the
 * assumption that all bits are zero is lowered until it agrees with every instruction. Sums: within a basic block, registers
 * that were computed by adding constants are traced back to a common root; registers with one definition are traced back
 * through the whole function. */
#include "emulator/ptx/address_values.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/ptx/address_effects.h"
#include "emulator/ptx/instruction_table.h"

enum { ZEROS_MAX = 12, CHAIN_MAX = 32, PASSES_MAX = 50, ABSOLUTE = 0 };

struct ptx_values {
    const ptx_module_t *module;
    const ptx_function_t *function;
    int32_t slot_count; /* a slot is 64 bytes of the frame; a register begins in one */
    uint8_t *zeros;
    uint8_t *definitions; /* 0, 1, or 2 for more */
    int32_t *definition;  /* the last one */
    int32_t *block;       /* number of the block in which `value` was set */
    ptx_value_t *value;   /* in the current block; of absolute registers, everywhere */
    bool *is_absolute;    /* the register is always the same number, for example the address of an array */
    int32_t block_number, next_root;
    bool has_lowered; /* an alignment, in the last pass over the instructions */
};

/* ---- Operands ------------------------------------------------------------------------------------------------------ */

/* Returns whether an operand is a constant, and its value. */
static bool is_constant(const ptx_values_t *values, ptx_operand_t operand, int bytes, int64_t *value)
{
    if (rungi_ptx_is_register(operand) && rungi_ptx_slot(operand) < values->slot_count &&
        values->is_absolute[rungi_ptx_slot(operand)]) {
        *value = values->value[rungi_ptx_slot(operand)].offset;
        return true;
    }
    if ((operand & PTX_BASE_MASK) != PTX_BASE_CONSTANT)
        return false;
    const unsigned char *data = values->module->constants + (operand & ~(ptx_operand_t)PTX_BASE_MASK);
    int32_t word;
    if (bytes == 8) {
        memcpy(value, data, 8);
    } else {
        memcpy(&word, data, 4);
        *value = word;
    }
    return true;
}

/* Returns the bytes of a source operand; the sources of mul.wide and cvt are narrower than the result. */
static int source_bytes(const ptx_instruction_t *instruction)
{
    ptx_type_t type = (ptx_type_t)(instruction->source_type ? instruction->source_type : instruction->type);
    return rungi_ptx_type_bits(type) == 64 ? 8 : 4;
}

/* ---- Alignment ----------------------------------------------------------------------------------------------------- */

static int zeros_of_number(int64_t number)
{
    int zeros = number ? __builtin_ctzll((unsigned long long)number) : ZEROS_MAX;
    return zeros < ZEROS_MAX ? zeros : ZEROS_MAX;
}

static int zeros_of(const ptx_values_t *values, ptx_operand_t operand, int bytes)
{
    int64_t number;
    if (is_constant(values, operand, bytes, &number))
        return zeros_of_number(number);
    return rungi_ptx_is_register(operand) ? values->zeros[rungi_ptx_slot(operand)] : 0;
}

static int smaller(int x, int y)
{
    return x < y ? x : y;
}

/* Returns the low zero bits of an instruction's result. */
static int zeros_of_result(const ptx_values_t *values, const ptx_instruction_t *instruction)
{
    int bytes = source_bytes(instruction), a, b, zeros = 0;
    int64_t count = 0;
    ptx_effect_t effect = rungi_ptx_effect(instruction);
    if (effect == PTX_EFFECT_OTHER)
        return 0;
    a = zeros_of(values, instruction->operand[1], bytes);
    b = effect == PTX_EFFECT_COPY ? 0 : zeros_of(values, instruction->operand[2], bytes);
    bool has_count = effect != PTX_EFFECT_COPY && is_constant(values, instruction->operand[2], 4, &count) &&
                     count >= 0 && count < 64;
    switch (effect) {
    case PTX_EFFECT_COPY: zeros = a; break;
    case PTX_EFFECT_ADD:
    case PTX_EFFECT_SUBTRACT:
    case PTX_EFFECT_OR:
    case PTX_EFFECT_EITHER: zeros = smaller(a, b); break;
    case PTX_EFFECT_AND: zeros = a > b ? a : b; break;
    case PTX_EFFECT_MULTIPLY: zeros = a + b; break;
    case PTX_EFFECT_MULTIPLY_ADD: zeros = smaller(a + b, zeros_of(values, instruction->operand[3], bytes)); break;
    case PTX_EFFECT_SHIFT_LEFT: zeros = a + (has_count ? (int)count : 0); break;
    case PTX_EFFECT_SHIFT_RIGHT: zeros = has_count && a > count ? a - (int)count : 0; break;
    case PTX_EFFECT_OTHER: break;
    }
    return smaller(zeros, ZEROS_MAX);
}

static void count_definition(void *user, ptx_operand_t operand, const ptx_instruction_t *instruction)
{
    ptx_values_t *values = user;
    if (!rungi_ptx_is_register(operand) || rungi_ptx_slot(operand) >= values->slot_count)
        return;
    int32_t slot = rungi_ptx_slot(operand);
    values->definitions[slot] = values->definitions[slot] ? 2 : 1;
    values->definition[slot] = (int32_t)(instruction - values->module->instructions);
}

static void lower(void *user, ptx_operand_t operand, const ptx_instruction_t *instruction)
{
    ptx_values_t *values = user;
    if (!rungi_ptx_is_register(operand) || rungi_ptx_slot(operand) >= values->slot_count)
        return;
    int zeros = operand == instruction->operand[0] ? zeros_of_result(values, instruction) : 0;
    if (zeros < values->zeros[rungi_ptx_slot(operand)]) {
        values->zeros[rungi_ptx_slot(operand)] = (uint8_t)zeros;
        values->has_lowered = true;
    }
}

/* Lowers the assumed alignment until all instructions agree with it. */
static void find_alignment(ptx_values_t *values)
{
    const ptx_instruction_t *instructions = values->module->instructions;
    memset(values->zeros, ZEROS_MAX, (size_t)values->slot_count);
    for (int32_t slot = 0; slot < values->slot_count; slot++) /* parameters and registers that nobody writes */
        if (!values->definitions[slot])
            values->zeros[slot] = 0;
    values->has_lowered = true;
    for (int pass = 0; values->has_lowered && pass < PASSES_MAX; pass++) {
        values->has_lowered = false;
        for (int32_t i = values->function->first; i < values->function->end; i++)
            rungi_ptx_for_destinations(values, &instructions[i], lower);
    }
    if (values->has_lowered) /* nothing is known without agreement */
        memset(values->zeros, 0, (size_t)values->slot_count);
}

/* ---- Sums ---------------------------------------------------------------------------------------------------------- */

/* Returns whether an instruction adds a constant to a register, or copies one; and the source and the constant. */
static bool adds_constant(const ptx_values_t *values, const ptx_instruction_t *instruction, ptx_operand_t *source,
                          int64_t *constant)
{
    ptx_effect_t effect = rungi_ptx_effect(instruction);
    int bytes = source_bytes(instruction);
    const ptx_operand_t *operand = instruction->operand;
    bool is_cvt = strcmp(rungi_ptx_table_row(instruction->row)->entry.opcode, "cvt") == 0;
    *source = operand[1];
    *constant = 0;
    if (instruction->guard || is_cvt)
        return false;
    if (effect == PTX_EFFECT_COPY)
        return true;
    if (effect == PTX_EFFECT_ADD && is_constant(values, operand[1], bytes, constant)) {
        *source = operand[2];
        return true;
    }
    if ((effect != PTX_EFFECT_ADD && effect != PTX_EFFECT_SUBTRACT && effect != PTX_EFFECT_OR) ||
        !is_constant(values, operand[2], bytes, constant))
        return false;
    if (effect == PTX_EFFECT_SUBTRACT)
        *constant = -*constant;
    return effect != PTX_EFFECT_OR || (*constant >= 0 && *constant < INT64_C(1) << zeros_of(values, operand[1], bytes));
}

static ptx_value_t own_root(const ptx_values_t *values, int32_t slot)
{
    return (ptx_value_t){.root = slot + 1, .zeros = values->zeros[slot]};
}

/* Returns the value of a * b + constant: its root is the product. */
static bool adds_to_product(const ptx_values_t *values, const ptx_instruction_t *instruction, int32_t root,
                            ptx_value_t *value)
{
    int bytes = source_bytes(instruction);
    int64_t constant;
    if (rungi_ptx_effect(instruction) != PTX_EFFECT_MULTIPLY_ADD || instruction->guard ||
        !is_constant(values, instruction->operand[3], bytes, &constant))
        return false;
    int zeros = zeros_of(values, instruction->operand[1], bytes) + zeros_of(values, instruction->operand[2], bytes);
    *value = (ptx_value_t){root, smaller(zeros, ZEROS_MAX), constant};
    return true;
}

/* Traces a register with one definition back through others of that kind. */
static ptx_value_t trace(const ptx_values_t *values, int32_t slot)
{
    int64_t offset = 0, constant;
    ptx_operand_t source;
    int32_t root = slot;
    for (int i = 0; i < CHAIN_MAX && values->definitions[root] == 1; i++) {
        const ptx_instruction_t *definition = &values->module->instructions[values->definition[root]];
        if (!adds_constant(values, definition, &source, &constant))
            break;
        int64_t number;
        if (is_constant(values, source, source_bytes(definition), &number))
            return (ptx_value_t){ABSOLUTE, ZEROS_MAX, number + constant + offset};
        if (!rungi_ptx_is_register(source) || values->definitions[rungi_ptx_slot(source)] != 1)
            break;
        offset += constant;
        root = rungi_ptx_slot(source);
    }
    ptx_value_t value = own_root(values, root);
    if (values->definitions[root] == 1)
        adds_to_product(values, &values->module->instructions[values->definition[root]], root + 1, &value);
    value.offset += offset;
    return value;
}

static ptx_value_t value_of(ptx_values_t *values, ptx_operand_t operand, int bytes)
{
    int64_t number;
    if (is_constant(values, operand, bytes, &number))
        return (ptx_value_t){ABSOLUTE, ZEROS_MAX, number};
    if (!rungi_ptx_is_register(operand) || rungi_ptx_slot(operand) >= values->slot_count)
        return (ptx_value_t){.root = values->next_root++};
    int32_t slot = rungi_ptx_slot(operand);
    if (values->block[slot] != values->block_number) {
        values->block[slot] = values->block_number;
        values->value[slot] = trace(values, slot);
    }
    return values->value[slot];
}

static void define(void *user, ptx_operand_t operand, const ptx_instruction_t *instruction)
{
    ptx_values_t *values = user;
    ptx_operand_t source;
    int64_t constant;
    if (!rungi_ptx_is_register(operand) || rungi_ptx_slot(operand) >= values->slot_count)
        return;
    int32_t slot = rungi_ptx_slot(operand);
    ptx_value_t value = {.root = values->next_root++, .zeros = values->zeros[slot]};
    if (operand == instruction->operand[0] && adds_constant(values, instruction, &source, &constant)) {
        value = value_of(values, source, source_bytes(instruction));
        value.offset += constant;
    } else if (values->definitions[slot] == 1) {
        value = trace(values, slot);
    } else if (operand == instruction->operand[0]) {
        adds_to_product(values, instruction, value.root, &value);
    }
    values->block[slot] = values->block_number;
    values->value[slot] = value;
}

/* Finds registers that are constants: in the order of the text, definitions come before uses. */
static void find_absolute(ptx_values_t *values)
{
    for (int32_t i = values->function->first; i < values->function->end; i++) {
        const ptx_instruction_t *instruction = &values->module->instructions[i];
        ptx_operand_t result = instruction->operand[0], source;
        int64_t constant, number;
        if (rungi_ptx_effect(instruction) == PTX_EFFECT_OTHER || !rungi_ptx_is_register(result) ||
            rungi_ptx_slot(result) >= values->slot_count || values->definitions[rungi_ptx_slot(result)] != 1)
            continue;
        if (!adds_constant(values, instruction, &source, &constant) ||
            !is_constant(values, source, source_bytes(instruction), &number))
            continue;
        values->is_absolute[rungi_ptx_slot(result)] = true;
        values->value[rungi_ptx_slot(result)] = (ptx_value_t){ABSOLUTE, ZEROS_MAX, number + constant};
    }
}

/* ---- Functions of the header --------------------------------------------------------------------------------------- */

ptx_values_t *rungi_ptx_values_create(const ptx_module_t *module, const ptx_function_t *function)
{
    ptx_values_t *values = calloc(1, sizeof *values);
    if (!values)
        return NULL;
    size_t slots = (size_t)(function->frame_bytes / PTX_SLOT_BYTES + 1);
    values->module = module;
    values->function = function;
    values->slot_count = (int32_t)slots;
    values->next_root = values->slot_count + 1;
    values->zeros = calloc(slots, sizeof *values->zeros);
    values->definitions = calloc(slots, sizeof *values->definitions);
    values->definition = calloc(slots, sizeof *values->definition);
    values->block = calloc(slots, sizeof *values->block);
    values->value = calloc(slots, sizeof *values->value);
    values->is_absolute = calloc(slots, sizeof *values->is_absolute);
    if (!values->zeros || !values->definitions || !values->definition || !values->block || !values->value ||
        !values->is_absolute) {
        rungi_ptx_values_free(values);
        return NULL;
    }
    for (int32_t i = function->first; i < function->end; i++)
        rungi_ptx_for_destinations(values, &module->instructions[i], count_definition);
    find_absolute(values);
    find_alignment(values);
    return values;
}

void rungi_ptx_values_free(ptx_values_t *values)
{
    if (!values)
        return;
    free(values->zeros);
    free(values->definitions);
    free(values->definition);
    free(values->block);
    free(values->value);
    free(values->is_absolute);
    free(values);
}

void rungi_ptx_values_begin_block(ptx_values_t *values)
{
    values->block_number++;
}

void rungi_ptx_values_execute(ptx_values_t *values, const ptx_instruction_t *instruction)
{
    rungi_ptx_for_destinations(values, instruction, define);
}

ptx_value_t rungi_ptx_values_address(ptx_values_t *values, const ptx_instruction_t *instruction, int index)
{
    ptx_value_t value = {ABSOLUTE, ZEROS_MAX, 0};
    if (instruction->operand[index])
        value = value_of(values, instruction->operand[index], instruction->address_bytes);
    value.offset += instruction->offset;
    return value;
}
