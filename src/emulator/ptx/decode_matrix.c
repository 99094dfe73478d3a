/* SPDX-License-Identifier: Apache-2.0 */
/* decode_matrix.c - decodes ldmatrix, stmatrix, movmatrix and wmma. */
#include "base/try.h"
#include "emulator/ptx/decode.h"
#include "emulator/ptx/decode_matrix.h"

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

/* ---- Fragments ----------------------------------------------------------------------------------------------------- */

int rungi_ptx_parse_dimension(rungi_string_view text, size_t *at, char letter)
{
    int value = 0, digits = 0;
    if (*at >= text.length || text.text[(*at)++] != letter)
        return -1;
    for (; digits < 3 && *at < text.length && text.text[*at] >= '0' && text.text[*at] <= '9'; digits++)
        value = 10 * value + (text.text[(*at)++] - '0');
    return digits ? value : -1;
}

bool rungi_ptx_parse_shape(rungi_string_view text, ptx_matrix_shape_t *shape)
{
    size_t at = 0;
    int m = rungi_ptx_parse_dimension(text, &at, 'm'), n = rungi_ptx_parse_dimension(text, &at, 'n'),
        k = rungi_ptx_parse_dimension(text, &at, 'k');
    if (m < 0 || m > UINT8_MAX || n < 0 || n > UINT8_MAX || k < 0 || at != text.length)
        return false;
    *shape = (ptx_matrix_shape_t){.m = (uint8_t)m, .n = (uint8_t)n, .k = (uint16_t)k};
    return true;
}

rung_status rungi_ptx_fail_shape(const ptx_parser_t *parser)
{
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "%.*s is not implemented",
                           (int)parser->statement.text.length, parser->statement.text.text);
}

/* Registers of a fragment of `elements` elements per warp. */
static int fragment_registers(int elements, ptx_type_t type)
{
    int bits = rungi_ptx_type_bits(type);
    return bits == 64 ? elements / PTX_WARP_LANES : elements * bits / 32 / PTX_WARP_LANES;
}

rung_status rungi_ptx_append_fragment(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                      const ptx_argument_t *argument, int elements, ptx_type_t type,
                                      bool is_destination)
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
    return rungi_ptx_append_fragment(parser, instruction, argument, copies * wmma_elements(shape, matrix), type,
                                     is_destination);
}

/* wmma.load.a.sync.aligned.row.shape.type d, [p]{, stride};  wmma.store.d...  [p], d{, stride};
 * Operands: 0 address, 1 stride (0: none). `operation` is the matrix; bit 7 of it is set for column-major. */
static rung_status decode_wmma_memory(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_statement_t *statement = &parser->statement;
    bool is_load = rungi_ptx_match_is(&statement->match, "op", "load");
    char matrix = rungi_ptx_match_slot(&statement->match, "matrix").text[0];
    ptx_matrix_shape_t shape;
    if (!rungi_ptx_parse_shape(rungi_ptx_match_slot(&statement->match, "shape"), &shape))
        return rungi_ptx_fail_shape(parser);
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

/* wmma.mma d, a, b, c; The list holds the registers of d, a, b and c. */
static rung_status decode_wmma_mma(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    const ptx_match_t *match = &parser->statement.match;
    ptx_matrix_shape_t shape;
    TRY(rungi_ptx_decode_count(parser, 4, 4));
    if (!rungi_ptx_parse_shape(rungi_ptx_match_slot(match, "shape"), &shape))
        return rungi_ptx_fail_shape(parser);
    bool has_types = rungi_ptx_match_has(match, "atype"); /* .f16 is not written */
    shape.d_type = (uint8_t)rungi_ptx_type_of(rungi_ptx_match_slot(match, "dtype"));
    shape.a_type = has_types ? (uint8_t)rungi_ptx_type_of(rungi_ptx_match_slot(match, "atype")) : PTX_F16;
    shape.b_type = has_types ? (uint8_t)rungi_ptx_type_of(rungi_ptx_match_slot(match, "btype")) : PTX_F16;
    shape.c_type = (uint8_t)rungi_ptx_type_of(rungi_ptx_match_slot(match, "ctype"));
    if (rungi_ptx_match_has(match, "satfinite"))
        instruction->flags |= PTX_FLAG_SAT;
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->offset = rungi_ptx_pack_shape(shape);
    TRY(append_wmma_fragment(parser, instruction, &arguments[0], &shape, 'd', (ptx_type_t)shape.d_type, true));
    TRY(append_wmma_fragment(parser, instruction, &arguments[1], &shape, 'a', (ptx_type_t)shape.a_type, false));
    TRY(append_wmma_fragment(parser, instruction, &arguments[2], &shape, 'b', (ptx_type_t)shape.b_type, false));
    TRY(append_wmma_fragment(parser, instruction, &arguments[3], &shape, 'c', (ptx_type_t)shape.c_type, false));
    return rungi_ptx_decode_executor(parser, instruction, "wmma_mma");
}

const ptx_decoder_t rungi_ptx_matrix_decoders[] = {{"ldmatrix", decode_ldmatrix},   {"stmatrix", decode_stmatrix},
                                                   {"movmatrix", decode_movmatrix}, {"wmma_memory", decode_wmma_memory},
                                                   {"wmma_mma", decode_wmma_mma},   {NULL, NULL}};
