/* SPDX-License-Identifier: Apache-2.0 */
/* decode_move.c - decodes mov, cvt, cvta and isspacep. */
#include <stdio.h>

#include "base/try.h"
#include "emulator/machine/address_windows.h"
#include "emulator/ptx/decode.h"

/* mov.b64 d, {a, b};  mov.b64 {a, b}, d; */
static rung_status decode_pack(ptx_parser_t *parser, ptx_instruction_t *instruction, bool is_unpack)
{
    const ptx_argument_t *list = &parser->statement.arguments[is_unpack ? 0 : 1];
    const ptx_argument_t *whole = &parser->statement.arguments[is_unpack ? 1 : 0];
    int bits = rungi_ptx_type_bits((ptx_type_t)instruction->type);
    if (list->count < 2 || list->count > 4 || bits % list->count != 0 || bits / list->count < 8)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "a list of %d elements does not fit %d bits", list->count,
                               bits);
    ptx_type_t part = bits / list->count == 64 ? PTX_B64 : bits / list->count == 32 ? PTX_B32 : PTX_B16;
    instruction->element_bytes = (uint8_t)(bits / list->count / 8);
    instruction->vector_length = (uint8_t)list->count;
    instruction->register_bytes = (uint8_t)rungi_ptx_register_bytes(part);
    TRY(rungi_ptx_decode_list(parser, instruction, list, part, is_unpack));
    TRY(is_unpack
            ? rungi_ptx_decode_source(parser, whole, (ptx_type_t)instruction->type, &instruction->operand[0])
            : rungi_ptx_decode_destination(parser, whole, (ptx_type_t)instruction->type, &instruction->operand[0]));
    return rungi_ptx_decode_executor(parser, instruction, is_unpack ? "mov_unpack" : "mov_pack");
}

/* The address of a local variable depends on the frame; that of a parameter of the kernel is an offset. */
static rung_status decode_symbol_move(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                      const ptx_argument_t *argument)
{
    const ptx_symbol_t *symbol = &argument->symbol;
    uint64_t value = (uint64_t)(symbol->value + argument->offset);
    if (symbol->kind == PTX_SYMBOL_VARIABLE && symbol->space == PTX_SPACE_LOCAL) {
        instruction->offset = (int64_t)value;
        return rungi_ptx_decode_executor(parser, instruction, "mov_local_b%d",
                                         rungi_ptx_type_bits((ptx_type_t)instruction->type));
    }
    if ((symbol->kind == PTX_SYMBOL_PARAMETER && symbol->space == PTX_SPACE_PARAM) ||
        symbol->kind == PTX_SYMBOL_FUNCTION)
        TRY(rungi_ptx_constant(parser, &value, rungi_ptx_register_bytes((ptx_type_t)instruction->type),
                               &instruction->operand[1]));
    else
        TRY(rungi_ptx_decode_source(parser, argument, (ptx_type_t)instruction->type, &instruction->operand[1]));
    return rungi_ptx_decode_executor(parser, instruction, "mov_b%d",
                                     rungi_ptx_type_bits((ptx_type_t)instruction->type));
}

static rung_status decode_mov(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    ptx_type_t type = (ptx_type_t)instruction->type;
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    if (arguments[0].kind == PTX_ARGUMENT_LIST || arguments[1].kind == PTX_ARGUMENT_LIST)
        return decode_pack(parser, instruction, arguments[0].kind == PTX_ARGUMENT_LIST);
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], type, &instruction->operand[0]));
    if (arguments[1].kind == PTX_ARGUMENT_SYMBOL)
        return decode_symbol_move(parser, instruction, &arguments[1]);
    if (arguments[1].kind == PTX_ARGUMENT_REGISTER &&
        (arguments[1].operand & PTX_BASE_MASK) == PTX_BASE_SPECIAL) { /* %clock64 by mov.u32, %laneid by mov.u64 */
        instruction->operand[1] = arguments[1].operand;
        instruction->element_bytes = (uint8_t)(rungi_ptx_type_bits(arguments[1].type) / 8);
        if (rungi_ptx_register_bytes(arguments[1].type) != rungi_ptx_register_bytes(type))
            return rungi_ptx_decode_executor(parser, instruction, "mov_special");
    } else {
        TRY(rungi_ptx_decode_source(parser, &arguments[1], type, &instruction->operand[1]));
    }
    return rungi_ptx_decode_executor(parser, instruction, "mov_b%d", rungi_ptx_type_bits(type));
}

static bool is_float(ptx_type_t type)
{
    return rungi_ptx_type_kind(type) == PTX_KIND_FLOAT;
}

/* cvt between integers and floats. Frequent pairs have their own executor. */
static rung_status decode_cvt(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    ptx_type_t to = (ptx_type_t)instruction->type, from = (ptx_type_t)instruction->source_type;
    uint8_t source_bytes;
    char name[64];
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    TRY(rungi_ptx_decode_wide(parser, &arguments[0], to, true, &instruction->operand[0], &instruction->register_bytes));
    TRY(rungi_ptx_decode_wide(parser, &arguments[1], from, false, &instruction->operand[1], &source_bytes));
    instruction->element_bytes = source_bytes;
    bool is_exact = source_bytes == rungi_ptx_type_bits(from) / 8 &&
                    instruction->register_bytes == rungi_ptx_type_bits(to) / 8;
    bool is_plain = instruction->flags == 0 && (instruction->rounding == PTX_ROUND_NONE ||
                                                (instruction->rounding == PTX_ROUND_RN && is_float(to)));
    snprintf(name, sizeof name, "cvt_%s_%s", rungi_ptx_type_name(to), rungi_ptx_type_name(from));
    instruction->execute = is_exact && is_plain ? parser->environment->find_executor(name) : NULL;
    return instruction->execute ? RUNG_OK : rungi_ptx_decode_executor(parser, instruction, "cvt");
}

static uint64_t window_of(ptx_space_t space)
{
    switch (space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: return PTX_SHARED_WINDOW;
    case PTX_SPACE_LOCAL: return PTX_LOCAL_WINDOW;
    case PTX_SPACE_PARAM: return PTX_PARAM_WINDOW;
    default: return 0; /* global and const addresses are generic addresses */
    }
}

/* cvta.space.u64 d, a;  cvta.to.space.u64 d, a; */
static rung_status decode_cvta(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    bool is_to = rungi_ptx_match_has(&parser->statement.match, "to");
    uint64_t window = window_of(rungi_ptx_decode_space(&parser->statement.match));
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    if (instruction->type != PTX_U64)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "cvta.u32 is not valid with 64-bit addresses");
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], PTX_U64, &instruction->operand[0]));
    if (arguments[1].kind == PTX_ARGUMENT_SYMBOL && arguments[1].symbol.space == PTX_SPACE_LOCAL) {
        instruction->offset = (int64_t)((uint64_t)(arguments[1].symbol.value + arguments[1].offset) + window);
        return rungi_ptx_decode_executor(parser, instruction, "mov_local_b64");
    }
    TRY(rungi_ptx_decode_source(parser, &arguments[1], PTX_U64, &instruction->operand[1]));
    window = is_to ? 0 - window : window;
    TRY(rungi_ptx_constant(parser, &window, 8, &instruction->operand[2]));
    return rungi_ptx_decode_executor(parser, instruction, window == 0 ? "mov_b64" : "add_b64");
}

static rung_status decode_isspacep(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    instruction->space = (uint8_t)rungi_ptx_decode_space(&parser->statement.match);
    TRY(rungi_ptx_decode_destination(parser, &parser->statement.arguments[0], PTX_PRED, &instruction->operand[0]));
    TRY(rungi_ptx_decode_source(parser, &parser->statement.arguments[1], PTX_U64, &instruction->operand[1]));
    return rungi_ptx_decode_executor(parser, instruction, "isspacep");
}

const ptx_decoder_t rungi_ptx_move_decoders[] = {
    {"mov", decode_mov}, {"cvt", decode_cvt}, {"cvta", decode_cvta}, {"isspacep", decode_isspacep}, {NULL, NULL}};
