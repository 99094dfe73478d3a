/* SPDX-License-Identifier: Apache-2.0 */
/* decode_mma.c - decodes mma, mma.sp and the forms of wmma.mma that have the fragments of mma. instructions.def lists
 * the shapes and types that exist. */
#include "base/try.h"
#include "emulator/ptx/decode.h"
#include "emulator/ptx/decode_matrix.h"

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

/* Reads shape and types, and sets the executor. */
static rung_status decode_form(ptx_parser_t *parser, ptx_instruction_t *instruction, ptx_matrix_shape_t *shape)
{
    const ptx_match_t *match = &parser->statement.match;
    if (!rungi_ptx_parse_shape(rungi_ptx_match_slot(match, "shape"), shape))
        return rungi_ptx_fail_shape(parser);
    shape->d_type = (uint8_t)type_of_slot(parser, "dtype");
    shape->a_type = (uint8_t)type_of_slot(parser, "atype");
    shape->b_type = (uint8_t)type_of_slot(parser, "btype");
    shape->c_type = (uint8_t)type_of_slot(parser, "ctype");
    bool is_sparse = rungi_ptx_match_has(match, "op") && !rungi_ptx_match_is(match, "op", "mma"); /* wmma.mma */
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->offset = rungi_ptx_pack_shape(*shape);
    if (rungi_ptx_match_has(match, "satfinite"))
        instruction->flags |= PTX_FLAG_SAT;
    return rungi_ptx_decode_executor(parser, instruction, "%s", executor_of(shape, is_sparse, instruction->rounding));
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

/* mma d, a, b, c;  mma.sp d, a, b, c, metadata, selector;  The list holds the registers of d, a, b and c. */
static rung_status decode_mma(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    const ptx_match_t *match = &parser->statement.match;
    ptx_matrix_shape_t shape;
    bool is_sparse = rungi_ptx_match_has(match, "op") && !rungi_ptx_match_is(match, "op", "mma");
    int operands = is_sparse ? 6 : 4;
    TRY(rungi_ptx_decode_count(parser, operands, operands));
    TRY(decode_form(parser, instruction, &shape));
    bool is_quad = shape.m == 8 && shape.k == 4 && shape.a_type == PTX_F16; /* four multiplications */
    int a_elements = is_sparse ? shape.m * shape.k / 2 : shape.m * shape.k, factor = is_quad ? 4 : 1;
    TRY(rungi_ptx_append_fragment(parser, instruction, &arguments[0], factor * shape.m * shape.n,
                                  (ptx_type_t)shape.d_type, true));
    TRY(rungi_ptx_append_fragment(parser, instruction, &arguments[1], factor * a_elements, (ptx_type_t)shape.a_type,
                                  false));
    TRY(rungi_ptx_append_fragment(parser, instruction, &arguments[2], factor * shape.k * shape.n,
                                  (ptx_type_t)shape.b_type, false));
    TRY(rungi_ptx_append_fragment(parser, instruction, &arguments[3], factor * shape.m * shape.n,
                                  (ptx_type_t)shape.c_type, false));
    if (is_sparse)
        return decode_selector(parser, instruction, &shape);
    if (shape.a_type == PTX_B1)
        instruction->operation = rungi_ptx_match_is(match, "bits", "and");
    else if (is_quad)
        instruction->operation = (uint8_t)(rungi_ptx_match_is(match, "alayout", "col") |
                                           rungi_ptx_match_is(match, "blayout", "col") << 1);
    return RUNG_OK;
}

const ptx_decoder_t rungi_ptx_mma_decoders[] = {{"mma", decode_mma}, {NULL, NULL}};
