/* SPDX-License-Identifier: Apache-2.0 */
/* decode_matrix.c - decodes ldmatrix, stmatrix, movmatrix, mma and wmma. */
#include <stdio.h>

#include "base/try.h"
#include "emulator/ptx/decode.h"
#include "emulator/ptx/matrix_shape.h"

/* ---- ldmatrix, stmatrix, movmatrix --------------------------------------------------------------------------------- */

static rung_status decode_matrix_access(ptx_parser_t *parser, ptx_instruction_t *instruction, bool is_load)
{
    const ptx_argument_t *data = &parser->statement.arguments[is_load ? 0 : 1];
    const ptx_argument_t *address = &parser->statement.arguments[is_load ? 1 : 0];
    rungi_string_view number = rungi_ptx_match_slot(&parser->statement.match, "num");
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->space = (uint8_t)rungi_ptx_decode_space(&parser->statement.match);
    instruction->element_bytes = 16;
    instruction->vector_length = (uint8_t)(number.text[1] - '0');
    TRY(rungi_ptx_decode_address(parser, instruction, address, 0, (ptx_space_t)instruction->space, false));
    TRY(rungi_ptx_decode_list(parser, instruction, data, PTX_B32, is_load));
    if (instruction->list_length != instruction->vector_length)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s needs %d registers",
                               (int)parser->statement.text.length, parser->statement.text.text,
                               instruction->vector_length);
    return rungi_ptx_decode_executor(parser, instruction, is_load ? "ldmatrix" : "stmatrix");
}

static rung_status decode_ldmatrix(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_matrix_access(parser, instruction, true);
}

static rung_status decode_stmatrix(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_matrix_access(parser, instruction, false);
}

static rung_status decode_movmatrix(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    TRY(rungi_ptx_decode_destination(parser, &parser->statement.arguments[0], PTX_B32, &instruction->operand[0]));
    TRY(rungi_ptx_decode_source(parser, &parser->statement.arguments[1], PTX_B32, &instruction->operand[1]));
    return rungi_ptx_decode_executor(parser, instruction, "movmatrix");
}

/* ---- mma ----------------------------------------------------------------------------------------------------------- */

/* Parses m16n8k16. */
static bool parse_shape(rungi_string_view text, ptx_matrix_shape_t *shape)
{
    int m = 0, n = 0, k = 0, used = 0;
    char copy[24];
    snprintf(copy, sizeof copy, "%.*s", (int)text.length, text.text);
    if (sscanf(copy, "m%dn%dk%d%n", &m, &n, &k, &used) != 3 || (size_t)used != text.length)
        return false;
    *shape = (ptx_matrix_shape_t){.m = (uint8_t)m, .n = (uint8_t)n, .k = (uint16_t)k};
    return true;
}

static rung_status fail_shape(const ptx_parser_t *parser)
{
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "%.*s is not implemented",
                           (int)parser->statement.text.length, parser->statement.text.text);
}

/* Parses the modifiers behind mma.sync.aligned: shape.row.col{.satfinite}.d.a.b.c */
static rung_status parse_mma_modifiers(ptx_parser_t *parser, ptx_instruction_t *instruction, ptx_matrix_shape_t *shape)
{
    const ptx_opcode_t *opcode = &parser->statement.opcode;
    const rungi_string_view *modifiers = opcode->modifiers + parser->statement.match.rest;
    int count = opcode->modifier_count - parser->statement.match.rest;
    if (count < 7 || !parse_shape(modifiers[0], shape) || !rungi_string_view_equals(modifiers[1], "row") ||
        !rungi_string_view_equals(modifiers[2], "col"))
        return fail_shape(parser);
    modifiers += 3;
    count -= 3;
    if (count == 5 && rungi_string_view_equals(modifiers[0], "satfinite")) {
        instruction->flags |= PTX_FLAG_SAT;
        modifiers++;
        count--;
    }
    if (count != 4)
        return fail_shape(parser);
    shape->d_type = (uint8_t)rungi_ptx_type_of(modifiers[0]);
    shape->a_type = (uint8_t)rungi_ptx_type_of(modifiers[1]);
    shape->b_type = (uint8_t)rungi_ptx_type_of(modifiers[2]);
    shape->c_type = (uint8_t)rungi_ptx_type_of(modifiers[3]);
    return RUNG_OK;
}

/* Shapes and types of mma.sync, without sparse ones. Types of B equal those of A, except for integers and FP8. */
static const struct {
    ptx_type_t a, b, c;
    uint8_t m, n;
    uint16_t k;
} mma_forms[] = {{PTX_F16, PTX_F16, PTX_F32, 16, 8, 8},    {PTX_F16, PTX_F16, PTX_F32, 16, 8, 16},
                 {PTX_F16, PTX_F16, PTX_F16, 16, 8, 8},    {PTX_F16, PTX_F16, PTX_F16, 16, 8, 16},
                 {PTX_BF16, PTX_BF16, PTX_F32, 16, 8, 8},  {PTX_BF16, PTX_BF16, PTX_F32, 16, 8, 16},
                 {PTX_TF32, PTX_TF32, PTX_F32, 16, 8, 4},  {PTX_TF32, PTX_TF32, PTX_F32, 16, 8, 8},
                 {PTX_F64, PTX_F64, PTX_F64, 8, 8, 4},     {PTX_F64, PTX_F64, PTX_F64, 16, 8, 4},
                 {PTX_F64, PTX_F64, PTX_F64, 16, 8, 8},    {PTX_F64, PTX_F64, PTX_F64, 16, 8, 16},
                 {PTX_S8, PTX_S8, PTX_S32, 8, 8, 16},      {PTX_S8, PTX_S8, PTX_S32, 16, 8, 16},
                 {PTX_S8, PTX_S8, PTX_S32, 16, 8, 32},     {PTX_S4, PTX_S4, PTX_S32, 8, 8, 32},
                 {PTX_S4, PTX_S4, PTX_S32, 16, 8, 32},     {PTX_S4, PTX_S4, PTX_S32, 16, 8, 64},
                 {PTX_E4M3, PTX_E4M3, PTX_F32, 16, 8, 16}, {PTX_E4M3, PTX_E4M3, PTX_F32, 16, 8, 32},
                 {PTX_E4M3, PTX_E4M3, PTX_F16, 16, 8, 16}, {PTX_E4M3, PTX_E4M3, PTX_F16, 16, 8, 32}};

/* Unsigned integers take the forms of signed ones, and e5m2 those of e4m3. */
static ptx_type_t form_type(ptx_type_t type)
{
    return type == PTX_U8 ? PTX_S8 : type == PTX_U4 ? PTX_S4 : type == PTX_E5M2 ? PTX_E4M3 : type;
}

static bool is_mma_form(const ptx_matrix_shape_t *shape)
{
    for (size_t i = 0; i < sizeof mma_forms / sizeof *mma_forms; i++)
        if (form_type((ptx_type_t)shape->a_type) == mma_forms[i].a &&
            form_type((ptx_type_t)shape->b_type) == mma_forms[i].b && shape->c_type == mma_forms[i].c &&
            shape->d_type == mma_forms[i].c && shape->m == mma_forms[i].m && shape->n == mma_forms[i].n &&
            shape->k == mma_forms[i].k)
            return true;
    return false;
}

/* Registers of a fragment of `elements` elements per warp. */
static int fragment_registers(int elements, ptx_type_t type)
{
    int bits = rungi_ptx_type_bits(type);
    return bits == 64 ? elements / PTX_WARP_LANES : elements * bits / 32 / PTX_WARP_LANES;
}

/* Appends a fragment of the right number of registers. */
static rung_status append_fragment(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *argument,
                                   int elements, ptx_type_t type, bool is_destination)
{
    ptx_type_t word = rungi_ptx_type_bits(type) == 64 ? PTX_B64 : PTX_B32;
    int before = instruction->list_length, expected = fragment_registers(elements, type);
    TRY(rungi_ptx_decode_list(parser, instruction, argument, word, is_destination));
    if (instruction->list_length - before != expected)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s: a fragment has %d registers instead of %d",
                               (int)parser->statement.text.length, parser->statement.text.text,
                               instruction->list_length - before, expected);
    return RUNG_OK;
}

/* mma d, a, b, c; The list holds the registers of d, a, b and c. */
static rung_status decode_mma(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    ptx_matrix_shape_t shape;
    TRY(parse_mma_modifiers(parser, instruction, &shape));
    if (rungi_ptx_match_has(&parser->statement.match, "op") || !is_mma_form(&shape))
        return fail_shape(parser);
    TRY(rungi_ptx_decode_count(parser, 4, 4));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->offset = rungi_ptx_pack_shape(shape);
    TRY(append_fragment(parser, instruction, &arguments[0], shape.m * shape.n, (ptx_type_t)shape.d_type, true));
    TRY(append_fragment(parser, instruction, &arguments[1], shape.m * shape.k, (ptx_type_t)shape.a_type, false));
    TRY(append_fragment(parser, instruction, &arguments[2], shape.k * shape.n, (ptx_type_t)shape.b_type, false));
    TRY(append_fragment(parser, instruction, &arguments[3], shape.m * shape.n, (ptx_type_t)shape.c_type, false));
    return rungi_ptx_decode_executor(parser, instruction,
                                     shape.a_type == PTX_F64   ? "mma_f64"
                                     : shape.c_type == PTX_S32 ? "mma_integer"
                                                               : "mma_float");
}

/* ---- wmma ---------------------------------------------------------------------------------------------------------- */

/* Elements of a fragment and its registers in wmma: A and B of .f16 hold every element twice. */
static int wmma_elements(const ptx_matrix_shape_t *shape, char matrix)
{
    return matrix == 'a' ? shape->m * shape->k : matrix == 'b' ? shape->k * shape->n : shape->m * shape->n;
}

static rung_status append_wmma_fragment(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                        const ptx_argument_t *argument, const ptx_matrix_shape_t *shape, char matrix,
                                        ptx_type_t type, bool is_destination)
{
    int copies = type == PTX_F16 && (matrix == 'a' || matrix == 'b') ? 512 / wmma_elements(shape, matrix) : 1;
    return append_fragment(parser, instruction, argument, copies * wmma_elements(shape, matrix), type, is_destination);
}

/* wmma.load.a.sync.aligned.row.shape.type d, [p]{, stride};  wmma.store.d...  [p], d{, stride};
 * Operands: 0 address, 1 stride (0: none). `operation` is the matrix; bit 7 of it is set for column-major. */
static rung_status decode_wmma_memory(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_statement_t *statement = &parser->statement;
    bool is_load = rungi_ptx_match_is(&statement->match, "op", "load");
    char matrix = rungi_ptx_match_slot(&statement->match, "matrix").text[0];
    ptx_matrix_shape_t shape;
    if (!parse_shape(rungi_ptx_match_slot(&statement->match, "shape"), &shape) || is_load == (matrix == 'd') ||
        rungi_ptx_type_bits((ptx_type_t)instruction->type) < 8)
        return fail_shape(parser);
    TRY(rungi_ptx_decode_count(parser, 2, 3));
    shape.a_type = instruction->type;
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->space = (uint8_t)rungi_ptx_decode_space(&statement->match);
    instruction->operation = (uint8_t)(matrix | (rungi_ptx_match_is(&statement->match, "layout", "col") ? 0x80 : 0));
    TRY(rungi_ptx_decode_address(parser, instruction, &statement->arguments[is_load ? 1 : 0], 0,
                                 (ptx_space_t)instruction->space, false));
    instruction->offset2 = rungi_ptx_pack_shape(shape);
    TRY(append_wmma_fragment(parser, instruction, &statement->arguments[is_load ? 0 : 1], &shape, matrix,
                             (ptx_type_t)instruction->type, is_load));
    if (statement->argument_count == 3)
        TRY(rungi_ptx_decode_source(parser, &statement->arguments[2], PTX_U32, &instruction->operand[1]));
    return rungi_ptx_decode_executor(parser, instruction, is_load ? "wmma_load" : "wmma_store");
}

/* wmma.mma.sync.aligned.alayout.blayout.shape{.rnd}.dtype{.atype.btype}.ctype{.satfinite} d, a, b, c; */
static rung_status decode_wmma_mma(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_opcode_t *opcode = &parser->statement.opcode;
    const rungi_string_view *modifiers = opcode->modifiers + parser->statement.match.rest;
    const ptx_argument_t *arguments = parser->statement.arguments;
    int count = opcode->modifier_count - parser->statement.match.rest;
    ptx_matrix_shape_t shape;
    TRY(rungi_ptx_decode_count(parser, 4, 4));
    if (count > 0 && rungi_string_view_equals(modifiers[count - 1], "satfinite")) {
        instruction->flags |= PTX_FLAG_SAT;
        count--;
    }
    if ((count != 5 && count != 7) || !parse_shape(modifiers[2], &shape))
        return fail_shape(parser);
    shape.d_type = (uint8_t)rungi_ptx_type_of(modifiers[3]);
    shape.a_type = count == 7 ? (uint8_t)rungi_ptx_type_of(modifiers[4]) : PTX_F16;
    shape.b_type = count == 7 ? (uint8_t)rungi_ptx_type_of(modifiers[5]) : PTX_F16;
    shape.c_type = (uint8_t)rungi_ptx_type_of(modifiers[count - 1]);
    if (!shape.a_type || !shape.b_type || !shape.c_type || !shape.d_type ||
        rungi_ptx_type_bits((ptx_type_t)shape.a_type) < 8)
        return fail_shape(parser);
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->offset = rungi_ptx_pack_shape(shape);
    TRY(append_wmma_fragment(parser, instruction, &arguments[0], &shape, 'd', (ptx_type_t)shape.d_type, true));
    TRY(append_wmma_fragment(parser, instruction, &arguments[1], &shape, 'a', (ptx_type_t)shape.a_type, false));
    TRY(append_wmma_fragment(parser, instruction, &arguments[2], &shape, 'b', (ptx_type_t)shape.b_type, false));
    TRY(append_wmma_fragment(parser, instruction, &arguments[3], &shape, 'c', (ptx_type_t)shape.c_type, false));
    return rungi_ptx_decode_executor(parser, instruction, "wmma_mma");
}

const ptx_decoder_t rungi_ptx_matrix_decoders[] = {{"ldmatrix", decode_ldmatrix},
                                                   {"stmatrix", decode_stmatrix},
                                                   {"movmatrix", decode_movmatrix},
                                                   {"mma", decode_mma},
                                                   {"wmma_memory", decode_wmma_memory},
                                                   {"wmma_mma", decode_wmma_mma},
                                                   {NULL, NULL}};

/* mbarrier, bulk copies, clusters and wgmma are not implemented yet. */
const ptx_decoder_t rungi_ptx_hopper_decoders[] = {{NULL, NULL}};
