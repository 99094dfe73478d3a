/* SPDX-License-Identifier: Apache-2.0 */
/* decode_operands.c - decodes operands: registers, numbers, addresses, lists and labels. */
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/decode.h"

rung_status rungi_ptx_decode_count(const ptx_parser_t *parser, int min, int max)
{
    int count = parser->statement.argument_count;
    if (count >= min && count <= max)
        return RUNG_OK;
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s has %d operands; it takes %d to %d",
                           (int)parser->statement.text.length, parser->statement.text.text, count, min, max);
}

rung_status rungi_ptx_decode_fail(const ptx_parser_t *parser, const char *reason)
{
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s: %s", (int)parser->statement.text.length,
                           parser->statement.text.text, reason);
}

static float double_to_float(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

/* Converts a number to the bits of a type. */
static rung_status convert_number(const ptx_parser_t *parser, const ptx_argument_t *argument, ptx_type_t type,
                                  uint64_t *bits)
{
    *bits = argument->integer;
    if (argument->kind == PTX_ARGUMENT_INTEGER)
        return RUNG_OK;
    if (type == PTX_F32 && argument->kind == PTX_ARGUMENT_F64) {
        float value = double_to_float(argument->integer);
        *bits = 0;
        memcpy(bits, &value, sizeof value);
    } else if ((type == PTX_F64 || type == PTX_B64) && argument->kind == PTX_ARGUMENT_F32) {
        return rungi_ptx_decode_fail(parser, "a single-precision number where a double is expected");
    }
    return RUNG_OK;
}

/* Adds a constant with the address of a variable. Addresses in shared memory are completed later. */
static rung_status address_constant(ptx_parser_t *parser, const ptx_argument_t *argument, int bytes, int64_t generic,
                                    ptx_operand_t *operand)
{
    const ptx_symbol_t *symbol = &argument->symbol;
    uint64_t address = (uint64_t)(symbol->space == PTX_SPACE_SHARED ? argument->offset
                                                                    : symbol->value + argument->offset);
    if (symbol->space != PTX_SPACE_SHARED)
        return rungi_ptx_constant(parser, &address, bytes, operand);
    int32_t offset = parser->constants.count;
    unsigned char *lanes = rungi_ptx_vector_append(&parser->constants, 1, PTX_WARP_LANES * bytes);
    ptx_shared_reference_t *reference = rungi_ptx_vector_append(&parser->shared_references, sizeof *reference, 1);
    if (!lanes || !reference)
        return RUNG_STATUS_NO_MEMORY;
    *reference = (ptx_shared_reference_t){.function = parser->function_index,
                                          .variable = (int32_t)symbol->value,
                                          .instruction = -1,
                                          .constant = offset,
                                          .constant_bytes = bytes,
                                          .generic = generic + argument->offset};
    *operand = (ptx_operand_t)offset | PTX_BASE_CONSTANT;
    return RUNG_OK;
}

rung_status rungi_ptx_decode_source(ptx_parser_t *parser, const ptx_argument_t *argument, ptx_type_t type,
                                    ptx_operand_t *operand)
{
    int bytes = rungi_ptx_register_bytes(type);
    switch (argument->kind) {
    case PTX_ARGUMENT_REGISTER:
        if (argument->type == PTX_PRED || rungi_ptx_register_bytes(argument->type) != bytes)
            return rungi_ptx_decode_fail(parser, "a register has a different size than the instruction's type");
        *operand = argument->operand;
        return RUNG_OK;
    case PTX_ARGUMENT_INTEGER:
    case PTX_ARGUMENT_F32:
    case PTX_ARGUMENT_F64: {
        unsigned char value[16] = {0};
        uint64_t bits;
        TRY(convert_number(parser, argument, type, &bits));
        memcpy(value, &bits, sizeof bits);
        return rungi_ptx_constant(parser, value, bytes, operand);
    }
    case PTX_ARGUMENT_SYMBOL:
        if (argument->symbol.kind == PTX_SYMBOL_VARIABLE && argument->symbol.space != PTX_SPACE_LOCAL)
            return address_constant(parser, argument, bytes, 0, operand);
        return rungi_ptx_decode_fail(parser, "the address of this name is not supported here");
    default: return rungi_ptx_decode_fail(parser, "an operand is not a register or a number");
    }
}

rung_status rungi_ptx_decode_destination(ptx_parser_t *parser, const ptx_argument_t *argument, ptx_type_t type,
                                         ptx_operand_t *operand)
{
    if (argument->kind == PTX_ARGUMENT_SINK)
        return rungi_ptx_allocate_registers(parser, type, 1, operand);
    if (argument->kind != PTX_ARGUMENT_REGISTER || (argument->operand & PTX_BASE_MASK) != PTX_BASE_FRAME)
        return rungi_ptx_decode_fail(parser, "the destination is not a register");
    if ((argument->type == PTX_PRED) != (type == PTX_PRED) ||
        rungi_ptx_register_bytes(argument->type) != rungi_ptx_register_bytes(type))
        return rungi_ptx_decode_fail(parser, "the destination has a different size than the instruction's type");
    rungi_ptx_mention(parser, argument->operand, argument->type, true);
    *operand = argument->operand;
    return RUNG_OK;
}

rung_status rungi_ptx_decode_wide(ptx_parser_t *parser, const ptx_argument_t *argument, ptx_type_t type,
                                  bool is_destination, ptx_operand_t *operand, uint8_t *register_bytes)
{
    ptx_type_t actual = argument->kind == PTX_ARGUMENT_REGISTER ? argument->type : type;
    *register_bytes = (uint8_t)rungi_ptx_register_bytes(actual);
    if (actual == PTX_PRED || *register_bytes < rungi_ptx_register_bytes(type))
        return rungi_ptx_decode_fail(parser, "a register is smaller than the instruction's type");
    return is_destination ? rungi_ptx_decode_destination(parser, argument, actual, operand)
                          : rungi_ptx_decode_source(parser, argument, actual, operand);
}

rung_status rungi_ptx_decode_predicate(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                       const ptx_argument_t *argument, int index, uint32_t flag)
{
    if (argument->kind == PTX_ARGUMENT_INTEGER) {
        uint32_t mask = argument->integer ? ~0u : 0u;
        TRY(rungi_ptx_constant(parser, &mask, 0, &instruction->operand[index]));
    } else if (argument->kind == PTX_ARGUMENT_REGISTER && argument->type == PTX_PRED) {
        instruction->operand[index] = argument->operand;
    } else {
        return rungi_ptx_decode_fail(parser, "an operand is not a predicate");
    }
    instruction->flags |= argument->is_negated ? flag : 0;
    return RUNG_OK;
}

/* Completes an address whose base is a symbol. */
static rung_status decode_symbol_address(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                         const ptx_argument_t *argument, int index, bool is_second)
{
    const ptx_symbol_t *symbol = &argument->symbol;
    int64_t *offset = is_second ? &instruction->offset2 : &instruction->offset;
    if (symbol->kind != PTX_SYMBOL_VARIABLE && symbol->kind != PTX_SYMBOL_PARAMETER)
        return rungi_ptx_decode_fail(parser, "the address is not that of a variable");
    instruction->operand[index] = 0;
    *offset = argument->offset;
    if (symbol->space == PTX_SPACE_SHARED) {
        ptx_shared_reference_t *reference = rungi_ptx_vector_append(&parser->shared_references, sizeof *reference, 1);
        if (!reference)
            return RUNG_STATUS_NO_MEMORY;
        *reference = (ptx_shared_reference_t){.function = parser->function_index,
                                              .variable = (int32_t)symbol->value,
                                              .instruction = parser->instructions.count,
                                              .is_second_offset = is_second};
        return RUNG_OK;
    }
    *offset += symbol->value;
    if (symbol->space == PTX_SPACE_LOCAL)
        instruction->flags |= PTX_FLAG_LOCAL_SYMBOL;
    if (symbol->space == PTX_SPACE_FUNCTION_PARAM) {
        if (argument->offset < 0 || argument->offset >= symbol->bytes)
            return rungi_ptx_decode_fail(parser, "the offset is outside of the parameter");
        instruction->space = PTX_SPACE_FUNCTION_PARAM;
        instruction->operand[index] = (ptx_operand_t)
                                          symbol->value; /* the frame's lane arrays, `list_length` bytes per lane */
        instruction->list_length = (int32_t)symbol->bytes;
        *offset = argument->offset;
    }
    return RUNG_OK;
}

rung_status rungi_ptx_decode_address(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                     const ptx_argument_t *argument, int index, ptx_space_t space, bool is_second)
{
    if (argument->kind != PTX_ARGUMENT_ADDRESS)
        return rungi_ptx_decode_fail(parser, "the operand is not an address in brackets");
    if (!is_second)
        instruction->address_bytes = 8;
    if (argument->base == PTX_ARGUMENT_SYMBOL)
        return decode_symbol_address(parser, instruction, argument, index, is_second);
    instruction->operand[index] = 0;
    *(is_second ? &instruction->offset2 : &instruction->offset) = argument->offset;
    if (argument->base == PTX_ARGUMENT_REGISTER) {
        int bytes = rungi_ptx_register_bytes(argument->type);
        if (argument->type == PTX_PRED || (bytes != 4 && bytes != 8) || (bytes == 4 && space == PTX_SPACE_GLOBAL))
            return rungi_ptx_decode_fail(parser, "the address register has the wrong size");
        instruction->operand[index] = argument->operand;
        if (is_second)
            instruction->register_bytes = (uint8_t)bytes;
        else
            instruction->address_bytes = (uint8_t)bytes;
    }
    return RUNG_OK;
}

rung_status rungi_ptx_decode_append(ptx_parser_t *parser, ptx_instruction_t *instruction, ptx_operand_t operand)
{
    ptx_operand_t *added = rungi_ptx_vector_append(&parser->lists, sizeof *added, 1);
    if (!added)
        return RUNG_STATUS_NO_MEMORY;
    *added = operand;
    if (instruction->list_length++ == 0)
        instruction->list_first = parser->lists.count - 1;
    return RUNG_OK;
}

rung_status rungi_ptx_decode_list(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *argument,
                                  ptx_type_t type, bool is_destination)
{
    bool is_list = argument->kind == PTX_ARGUMENT_LIST;
    const ptx_argument_t *elements = is_list ? &parser->statement.elements[argument->first] : argument;
    for (int32_t i = 0; i < (is_list ? argument->count : 1); i++) {
        ptx_operand_t operand;
        TRY(is_destination ? rungi_ptx_decode_destination(parser, &elements[i], type, &operand)
                           : rungi_ptx_decode_source(parser, &elements[i], type, &operand));
        TRY(rungi_ptx_decode_append(parser, instruction, operand));
    }
    return RUNG_OK;
}

rung_status rungi_ptx_decode_immediate(ptx_parser_t *parser, const ptx_argument_t *argument, int64_t *value)
{
    if (argument->kind != PTX_ARGUMENT_INTEGER)
        return rungi_ptx_decode_fail(parser, "an operand is not an integer constant");
    *value = (int64_t)argument->integer;
    return RUNG_OK;
}

ptx_space_t rungi_ptx_decode_space(const ptx_match_t *match)
{
    static const struct {
        const char *name;
        ptx_space_t space;
    } spaces[] = {{"global", PTX_SPACE_GLOBAL},      {"shared", PTX_SPACE_SHARED},
                  {"shared::cta", PTX_SPACE_SHARED}, {"shared::cluster", PTX_SPACE_SHARED_CLUSTER},
                  {"local", PTX_SPACE_LOCAL},        {"const", PTX_SPACE_CONST},
                  {"param", PTX_SPACE_PARAM},        {"param::entry", PTX_SPACE_PARAM},
                  {"param::func", PTX_SPACE_PARAM}};
    rungi_string_view name = rungi_ptx_match_slot(match, "space");
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (rungi_string_view_equals(name, spaces[i].name))
            return spaces[i].space;
    return PTX_SPACE_GENERIC;
}

rung_status rungi_ptx_decode_label(ptx_parser_t *parser, rungi_string_view name, int32_t list_index)
{
    ptx_fixup_t *fixup = rungi_ptx_vector_append(&parser->fixups, sizeof *fixup, 1);
    if (!fixup)
        return RUNG_STATUS_NO_MEMORY;
    *fixup = (ptx_fixup_t){.instruction = parser->instructions.count,
                           .list_index = list_index,
                           .scope_depth = parser->symbols.scope_count,
                           .name = name,
                           .line = parser->statement.line};
    return RUNG_OK;
}
