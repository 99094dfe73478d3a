/* SPDX-License-Identifier: Apache-2.0 */
/* decode_wgmma.c - decodes wgmma.mma_async.
 *
 * The list holds the registers of D, then those of A or the descriptor of A, then the descriptor of B. Operand 0 is scale-d.
 * `offset` is n; `type`, `source_type` and `combine` are the types of D, A and B. */
#include "base/try.h"
#include "emulator/ptx/decode.h"
#include "emulator/ptx/decode_matrix.h"
#include "emulator/ptx/hopper_operations.h"

static rung_status fail_form(const ptx_parser_t *parser)
{
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "%.*s is not implemented",
                           (int)parser->statement.text.length, parser->statement.text.text);
}

/* Types of wgmma. u8 takes the forms of s8, and e5m2 those of e4m3. */
static const struct {
    ptx_type_t a, d;
    int k, immediates; /* with A in shared memory */
} forms[] = {{PTX_F16, PTX_F32, 16, 4}, {PTX_F16, PTX_F16, 16, 4}, {PTX_BF16, PTX_F32, 16, 4},
             {PTX_TF32, PTX_F32, 8, 2}, {PTX_S8, PTX_S32, 32, 0},  {PTX_E4M3, PTX_F32, 32, 2},
             {PTX_E4M3, PTX_F16, 32, 2}};

static ptx_type_t form_type(ptx_type_t type)
{
    return type == PTX_U8 ? PTX_S8 : type == PTX_E5M2 ? PTX_E4M3 : type;
}

/* Parses m64n128k16.f32.f16.f16{.satfinite}. Sets the number of immediate operands. */
static rung_status parse_form(ptx_parser_t *parser, ptx_instruction_t *instruction, int *immediates)
{
    const ptx_opcode_t *opcode = &parser->statement.opcode;
    const rungi_string_view *modifiers = opcode->modifiers + parser->statement.match.rest;
    int count = opcode->modifier_count - parser->statement.match.rest;
    if (count == 5 && rungi_string_view_equals(modifiers[4], "satfinite")) {
        instruction->flags |= PTX_FLAG_SAT;
        count--;
    }
    if (count != 4)
        return fail_form(parser);
    size_t at = 0;
    int m = rungi_ptx_parse_dimension(modifiers[0], &at, 'm'), n = rungi_ptx_parse_dimension(modifiers[0], &at, 'n'),
        k = rungi_ptx_parse_dimension(modifiers[0], &at, 'k');
    if (m != 64 || at != modifiers[0].length)
        return fail_form(parser);
    ptx_type_t d = rungi_ptx_type_of(modifiers[1]), a = rungi_ptx_type_of(modifiers[2]),
               b = rungi_ptx_type_of(modifiers[3]);
    *immediates = -1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].a == form_type(a) && forms[i].a == form_type(b) && forms[i].d == d && forms[i].k == k)
            *immediates = forms[i].immediates;
    bool has_equal_types = a == b || form_type(a) == PTX_S8 || form_type(a) == PTX_E4M3;
    bool is_valid_n = n >= 8 && n <= 256 && n % 8 == 0;
    if (*immediates < 0 || !has_equal_types || !is_valid_n || ((instruction->flags & PTX_FLAG_SAT) && d != PTX_S32))
        return fail_form(parser);
    instruction->offset = n;
    instruction->type = (uint8_t)d;
    instruction->source_type = (uint8_t)a;
    instruction->combine = (uint8_t)b;
    return RUNG_OK;
}

/* Decodes the immediates: factors of A and B, which are 1 or -1, and transpositions, which are 0 or 1. */
static rung_status decode_immediates(ptx_parser_t *parser, ptx_instruction_t *instruction, int count)
{
    bool has_registers = instruction->operation & PTX_WGMMA_REGISTERS;
    uint8_t flags[4] = {PTX_WGMMA_NEGATE_A, PTX_WGMMA_NEGATE_B,
                        has_registers ? PTX_WGMMA_TRANSPOSE_B : PTX_WGMMA_TRANSPOSE_A, PTX_WGMMA_TRANSPOSE_B};
    for (int i = 0; i < count; i++) {
        int64_t value;
        TRY(rungi_ptx_decode_immediate(parser, &parser->statement.arguments[4 + i], &value));
        bool is_set = value == (i < 2 ? -1 : 1), is_clear = value == (i < 2 ? 1 : 0);
        if (!is_set && !is_clear)
            return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID,
                                   "%lld is not valid; a factor is 1 or -1, a transposition 0 or 1", (long long)value);
        instruction->operation |= is_set ? flags[i] : 0;
    }
    return RUNG_OK;
}

/* wgmma.mma_async d, a or its descriptor, descriptor of b, scale-d{, factors{, transpositions}}; */
static rung_status decode_wgmma(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    int immediates = 0, registers;
    TRY(parse_form(parser, instruction, &immediates));
    registers = (int)instruction->offset * rungi_ptx_type_bits((ptx_type_t)instruction->type) / 64;
    instruction->control = PTX_CONTROL_WARP_SYNC;
    if (arguments[1].kind == PTX_ARGUMENT_LIST) {
        instruction->operation |= PTX_WGMMA_REGISTERS;
        immediates -= immediates == 4;
    }
    TRY(rungi_ptx_decode_count(parser, 4 + immediates, 4 + immediates));
    TRY(rungi_ptx_decode_list(parser, instruction, &arguments[0], PTX_B32, true));
    if (instruction->list_length != registers)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s: D has %d registers instead of %d",
                               (int)parser->statement.text.length, parser->statement.text.text,
                               instruction->list_length, registers);
    bool has_registers = instruction->operation & PTX_WGMMA_REGISTERS;
    TRY(rungi_ptx_decode_list(parser, instruction, &arguments[1], has_registers ? PTX_B32 : PTX_B64, false));
    if (instruction->list_length != registers + (has_registers ? 4 : 1))
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "A has 4 registers or a descriptor");
    TRY(rungi_ptx_decode_list(parser, instruction, &arguments[2], PTX_B64, false));
    TRY(rungi_ptx_decode_predicate(parser, instruction, &arguments[3], 0, PTX_FLAG_NEGATE_A));
    TRY(decode_immediates(parser, instruction, immediates));
    return rungi_ptx_decode_executor(parser, instruction,
                                     instruction->type == PTX_S32 ? "wgmma_integer" : "wgmma_float");
}

/* wgmma.wait_group n; */
static rung_status decode_wgmma_wait(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 1, 1));
    instruction->control = PTX_CONTROL_WAIT;
    TRY(rungi_ptx_decode_immediate(parser, &parser->statement.arguments[0], &instruction->offset));
    return rungi_ptx_decode_executor(parser, instruction, "wgmma_wait");
}

const ptx_decoder_t rungi_ptx_wgmma_decoders[] = {
    {"wgmma", decode_wgmma}, {"wgmma_wait", decode_wgmma_wait}, {NULL, NULL}};
