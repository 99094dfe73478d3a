/* SPDX-License-Identifier: Apache-2.0 */
/* decode_mma.c - decodes mma, mma.sp, mma with block scales, and the forms of wmma.mma that have the fragments of mma.
 * instructions.def lists the shapes and types that exist. */
#include "base/try.h"
#include "emulator/ptx/decode.h"
#include "emulator/ptx/decode_matrix.h"
#include "emulator/ptx/scale_selectors.h"

static ptx_type_t type_of_slot(const ptx_parser_t *parser, const char *name)
{
    return rungi_ptx_type_of(rungi_ptx_match_slot(&parser->statement.match, name));
}

static const char *executor_of(const ptx_matrix_shape_t *shape, bool is_sparse, int rounding)
{
    bool is_integer = shape->c_type == PTX_S32;
    if (shape->a_type == PTX_F64)
        return rounding >= PTX_ROUND_RZ && rounding <= PTX_ROUND_RP ? "mma_f64_rounded" : "mma_f64";
    if (shape->a_type == PTX_B1)
        return "mma_bits";
    if (shape->m == 8 && !is_integer)
        return "mma_m8n8k4";
    if (is_sparse)
        return is_integer ? "mma_sparse_integer" : "mma_sparse_float";
    return is_integer ? "mma_integer" : "mma_float";
}

/* Reads shape and types. */
static rung_status decode_form(ptx_parser_t *parser, ptx_instruction_t *instruction, ptx_matrix_shape_t *shape)
{
    const ptx_match_t *match = &parser->statement.match;
    if (!rungi_ptx_parse_shape(rungi_ptx_match_slot(match, "shape"), shape))
        return rungi_ptx_fail_shape(parser);
    shape->d_type = (uint8_t)type_of_slot(parser, "dtype");
    shape->a_type = (uint8_t)type_of_slot(parser, "atype");
    shape->b_type = (uint8_t)type_of_slot(parser, "btype");
    shape->c_type = (uint8_t)type_of_slot(parser, "ctype");
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->offset = rungi_ptx_pack_shape(*shape);
    if (rungi_ptx_match_has(match, "satfinite"))
        instruction->flags |= PTX_FLAG_SAT;
    return RUNG_OK;
}

/* The selector is an integer constant: which lanes of each group of four hold the metadata. */
static rung_status decode_selector(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                   const ptx_matrix_shape_t *shape)
{
    int bits = rungi_ptx_type_bits((ptx_type_t)shape->a_type), chunk_size = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    int lanes = shape->k / chunk_size / 4; /* of 4 that hold the metadata of one instruction */
    int64_t selector;
    TRY(rungi_ptx_decode_source(parser, &parser->statement.arguments[4], PTX_B32, &instruction->operand[0]));
    TRY(rungi_ptx_decode_immediate(parser, &parser->statement.arguments[5], &selector));
    if (selector < 0 || selector >= 4 / lanes)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s: the selector is %lld; it may be 0 to %d",
                               (int)parser->statement.text.length, parser->statement.text.text, (long long)selector,
                               4 / lanes - 1);
    instruction->operation = (uint8_t)selector;
    return RUNG_OK;
}

/* The type of a fragment's storage. Elements of 4 and 6 bits have a byte each, unless the shape is the one of packed e2m1. */
static ptx_type_t storage_of(const ptx_matrix_shape_t *shape, uint8_t type)
{
    bool is_small = type == PTX_E2M1 || type == PTX_E2M3 || type == PTX_E3M2;
    return is_small && shape->k == 32 ? PTX_B8 : (ptx_type_t)type;
}

/* Appends d, a, b and c of `factor` multiplications. */
static rung_status append_fragments(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                    const ptx_matrix_shape_t *shape, int a_elements, int factor)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    TRY(rungi_ptx_append_fragment(parser, instruction, &arguments[0], factor * shape->m * shape->n,
                                  (ptx_type_t)shape->d_type, true));
    TRY(rungi_ptx_append_fragment(parser, instruction, &arguments[1], factor * a_elements,
                                  storage_of(shape, shape->a_type), false));
    TRY(rungi_ptx_append_fragment(parser, instruction, &arguments[2], factor * shape->k * shape->n,
                                  storage_of(shape, shape->b_type), false));
    return rungi_ptx_append_fragment(parser, instruction, &arguments[3], factor * shape->m * shape->n,
                                     (ptx_type_t)shape->c_type, false);
}

/* mma d, a, b, c;  mma.sp d, a, b, c, metadata, selector;  The list holds the registers of d, a, b and c. */
static rung_status decode_mma(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_match_t *match = &parser->statement.match;
    ptx_matrix_shape_t shape;
    bool is_sparse = rungi_ptx_match_has(match, "op") && !rungi_ptx_match_is(match, "op", "mma"); /* wmma.mma */
    int operands = is_sparse ? 6 : 4;
    TRY(rungi_ptx_decode_count(parser, operands, operands));
    TRY(decode_form(parser, instruction, &shape));
    TRY(rungi_ptx_decode_executor(parser, instruction, "%s", executor_of(&shape, is_sparse, instruction->rounding)));
    bool is_quad = shape.m == 8 && shape.k == 4 && shape.a_type == PTX_F16; /* four multiplications */
    int a_elements = is_sparse ? shape.m * shape.k / 2 : shape.m * shape.k;
    TRY(append_fragments(parser, instruction, &shape, a_elements, is_quad ? 4 : 1));
    if (is_sparse)
        return decode_selector(parser, instruction, &shape);
    if (shape.a_type == PTX_B1)
        instruction->operation = rungi_ptx_match_is(match, "bits", "and");
    else if (is_quad)
        instruction->operation = (uint8_t)(rungi_ptx_match_is(match, "alayout", "col") |
                                           rungi_ptx_match_is(match, "blayout", "col") << 1);
    return RUNG_OK;
}

/* ---- Block scales -------------------------------------------------------------------------------------------------- */

/* Scales per row of A and column of B: the number in scale_vec::2X. The kinds that need not say it have the one of their
 * type. */
static int scale_blocks(const ptx_match_t *match)
{
    rungi_string_view size = rungi_ptx_match_slot(match, "scale_vec");
    if (size.length > 0)
        return size.text[size.length - 2] - '0';
    return rungi_ptx_match_is(match, "kind", "kind::mxf4") ? 2 : 1;
}

/* Fails because an operand has not the form that it must have. */
static rung_status fail_scales(const ptx_parser_t *parser, const char *what)
{
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID,
                           "%.*s: %s; the operands are d, a, b, c, scale-a-data, {byte-id-a, thread-id-a}, "
                           "scale-b-data, {byte-id-b, thread-id-b}",
                           (int)parser->statement.text.length, parser->statement.text.text, what);
}

/* A selector is a number or a register of 16 bits. */
static rung_status append_selector(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *id,
                                   int selector)
{
    ptx_operand_t operand;
    int blocks = instruction->vector_length;
    if (id->kind == PTX_ARGUMENT_INTEGER && !rungi_ptx_selector_is_valid(selector, blocks, id->integer))
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s: %s is %lld; %s is valid with %d scales per row",
                               (int)parser->statement.text.length, parser->statement.text.text,
                               rungi_ptx_selector_name(selector), (long long)id->integer,
                               rungi_ptx_selector_values(selector, blocks), blocks);
    TRY(rungi_ptx_decode_source(parser, id, PTX_B16, &operand));
    return rungi_ptx_decode_append(parser, instruction, operand);
}

/* Appends scale, {byte-id, thread-id} of matrix 0 (A) or 1 (B). */
static rung_status append_scale(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *arguments,
                                int matrix)
{
    const ptx_argument_t *elements = parser->statement.elements, *data = &arguments[0], *ids = &arguments[1];
    ptx_operand_t operand;
    if (data->kind == PTX_ARGUMENT_LIST && data->count == 1)
        data = &elements[data->first];
    if (data->kind != PTX_ARGUMENT_REGISTER)
        return fail_scales(parser, matrix == 0 ? "scale-a-data is not a register" : "scale-b-data is not a register");
    if (ids->kind != PTX_ARGUMENT_LIST || ids->count != 2)
        return fail_scales(parser, "a selector is not a list of two numbers");
    TRY(rungi_ptx_decode_source(parser, data, PTX_B32, &operand));
    TRY(rungi_ptx_decode_append(parser, instruction, operand));
    TRY(append_selector(parser, instruction, &elements[ids->first], 2 * matrix));
    return append_selector(parser, instruction, &elements[ids->first + 1], 2 * matrix + 1);
}

/* mma d, a, b, c, scale-a-data, {byte-id-a, thread-id-a}, scale-b-data, {byte-id-b, thread-id-b};
 * The list holds all operands in this order: operand 4 of an instruction that waits for its warp is a member mask.
 * `vector_length` is the number of scales per row. */
static rung_status decode_mma_scaled(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    ptx_matrix_shape_t shape;
    if (parser->statement.argument_count != 8)
        return fail_scales(parser, "a scale or its selector is missing");
    TRY(decode_form(parser, instruction, &shape));
    instruction->vector_length = (uint8_t)scale_blocks(&parser->statement.match);
    TRY(append_fragments(parser, instruction, &shape, shape.m * shape.k, 1));
    TRY(append_scale(parser, instruction, &arguments[4], 0));
    TRY(append_scale(parser, instruction, &arguments[6], 1));
    return rungi_ptx_decode_executor(parser, instruction, "mma_scaled");
}

const ptx_decoder_t rungi_ptx_mma_decoders[] = {{"mma", decode_mma}, {"mma_scaled", decode_mma_scaled}, {NULL, NULL}};
