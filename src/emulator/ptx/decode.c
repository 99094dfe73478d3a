/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - turns a parsed statement into an instruction, as its row of instructions.def says. */
#include "emulator/ptx/decode.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"

/* ---- Executors ----------------------------------------------------------------------------------------------------- */

rung_status rungi_ptx_decode_executor(ptx_parser_t *parser, ptx_instruction_t *instruction, const char *format, ...)
{
    char name[96];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    instruction->execute = parser->environment->find_executor(name);
    if (instruction->execute)
        return RUNG_OK;
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "%.*s is not implemented (%s)",
                           (int)parser->statement.text.length, parser->statement.text.text, name);
}

static bool needs_mode(const ptx_instruction_t *instruction)
{
    return (instruction->flags & (PTX_FLAG_FTZ | PTX_FLAG_SAT)) ||
           (instruction->rounding != PTX_ROUND_NONE && instruction->rounding != PTX_ROUND_RN);
}

/* Writes what a name in braces stands for. A modifier that is its own slot becomes "_name". */
static void substitute(const ptx_parser_t *parser, const ptx_instruction_t *instruction, const char *name, char *to,
                       size_t size)
{
    rungi_string_view value = rungi_ptx_match_slot(&parser->statement.match, name);
    if (strcmp(name, "mode") == 0 && value.length == 0)
        snprintf(to, size, "%s", needs_mode(instruction) ? "_mode" : "");
    else if (strcmp(name, "bits") == 0)
        snprintf(to, size, "b%d", rungi_ptx_type_bits((ptx_type_t)instruction->type));
    else if (rungi_string_view_equals(value, name))
        snprintf(to, size, "_%s", name);
    else
        snprintf(to, size, "%.*s", (int)value.length, value.text);
}

/* Expands the braces of an executor's name. */
static void expand_name(const ptx_parser_t *parser, const ptx_instruction_t *instruction, const char *pattern,
                        char *name, size_t size)
{
    size_t used = 0;
    while (*pattern && used + 1 < size) {
        if (*pattern != '{') {
            name[used++] = *pattern++;
            continue;
        }
        char slot[32];
        size_t length = strcspn(pattern + 1, "}");
        snprintf(slot, sizeof slot, "%.*s", (int)length, pattern + 1);
        substitute(parser, instruction, slot, name + used, size - used);
        used += strlen(name + used);
        pattern += length + 2;
    }
    name[used] = 0;
}

/* ---- Instructions -------------------------------------------------------------------------------------------------- */

static void set_rounding(const ptx_match_t *match, ptx_instruction_t *instruction)
{
    static const struct {
        const char *name;
        ptx_rounding_t rounding;
    } modes[] = {{"rn", PTX_ROUND_RN},   {"rz", PTX_ROUND_RZ},  {"rm", PTX_ROUND_RM},   {"rp", PTX_ROUND_RP},
                 {"rna", PTX_ROUND_RNA}, {"rs", PTX_ROUND_RS},  {"rni", PTX_ROUND_RNI}, {"rzi", PTX_ROUND_RZI},
                 {"rmi", PTX_ROUND_RMI}, {"rpi", PTX_ROUND_RPI}};
    rungi_string_view name = rungi_ptx_match_slot(match, "rnd");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (rungi_string_view_equals(name, modes[i].name))
            instruction->rounding = (uint8_t)modes[i].rounding;
}

static void set_flags(const ptx_match_t *match, ptx_instruction_t *instruction)
{
    static const struct {
        const char *name;
        uint32_t flag;
    } flags[] = {{"ftz", PTX_FLAG_FTZ},
                 {"sat", PTX_FLAG_SAT},
                 {"satfinite", PTX_FLAG_SATFINITE},
                 {"relu", PTX_FLAG_RELU},
                 {"NaN", PTX_FLAG_NAN},
                 {"xorsign", PTX_FLAG_XORSIGN_ABS},
                 {"abs", PTX_FLAG_ABS},
                 {"approx", PTX_FLAG_APPROXIMATE},
                 {"trans", PTX_FLAG_TRANSPOSE}};
    static const char *const combinations[] = {"", "and", "or", "xor"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        instruction->flags |= rungi_ptx_match_has(match, flags[i].name) ? flags[i].flag : 0;
    for (uint8_t i = 1; i < 4; i++)
        if (rungi_ptx_match_is(match, "bool", combinations[i]))
            instruction->combine = i;
}

/* Sets what all instructions have. */
static void begin_instruction(const ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_statement_t *statement = &parser->statement;
    *instruction = (ptx_instruction_t){.guard = statement->guard,
                                       .guard_negated = statement->guard_negated,
                                       .target = -1,
                                       .reconvergence = -1,
                                       .location = parser->location,
                                       .line = statement->line,
                                       .row = statement->match.row,
                                       .merged = 0};
    instruction->type = (uint8_t)rungi_ptx_type_of(rungi_ptx_match_slot(&statement->match, "type"));
    instruction->source_type = (uint8_t)rungi_ptx_type_of(rungi_ptx_match_slot(&statement->match, "stype"));
    set_rounding(&statement->match, instruction);
    set_flags(&statement->match, instruction);
}

/* One operand of a row's specification, such as "d|p?", "b:u32", "!c". */
typedef struct operand_spec {
    bool is_destination, is_predicate, is_optional, is_immediate;
    bool has_second, second_is_optional;
    ptx_type_t type, second_type;
} operand_spec_t;

static ptx_type_t spec_type(const ptx_instruction_t *instruction, const char *name)
{
    static const ptx_type_t wide[] = {
        [PTX_U16] = PTX_U32, [PTX_S16] = PTX_S32, [PTX_U32] = PTX_U64, [PTX_S32] = PTX_S64};
    if (!*name)
        return (ptx_type_t)instruction->type;
    if (strcmp(name, "stype") == 0)
        return (ptx_type_t)instruction->source_type;
    if (strcmp(name, "wide") == 0)
        return wide[instruction->type];
    return rungi_ptx_type_of(rungi_string_view_of(name, strlen(name)));
}

static operand_spec_t read_spec(const ptx_instruction_t *instruction, const char *text, size_t length)
{
    char copy[32];
    operand_spec_t spec = {0};
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    if (copy[strlen(copy) - 1] == '?' && !strchr(copy, '|')) {
        spec.is_optional = true;
        copy[strlen(copy) - 1] = 0;
    }
    char *bar = strchr(copy, '|');
    if (bar) {
        spec.has_second = true;
        spec.second_is_optional = strchr(bar, '?') != NULL;
        spec.second_type = PTX_PRED;
        *bar = 0;
    }
    char *colon = strchr(copy, ':');
    spec.is_immediate = colon && strcmp(colon + 1, "imm") == 0;
    spec.is_predicate = copy[0] == '!' || copy[0] == 'p';
    spec.is_destination = copy[0] == 'd' || copy[0] == 'p';
    spec.type = spec.is_predicate ? PTX_PRED : spec_type(instruction, colon ? colon + 1 : "");
    return spec;
}

static rung_status decode_second(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *argument,
                                 const operand_spec_t *spec)
{
    if (argument->has_second && !spec->has_second)
        return rungi_ptx_decode_fail(parser, "\"|\" is not valid here");
    if (spec->has_second && !spec->second_is_optional && !argument->has_second)
        return rungi_ptx_decode_fail(parser, "a second destination after \"|\" is missing");
    if (argument->second && argument->second_type != spec->second_type)
        return rungi_ptx_decode_fail(parser, "the register after \"|\" is not a predicate");
    if (spec->has_second)
        instruction->operand[PTX_OPERANDS_MAX - 1] = argument->second;
    return RUNG_OK;
}

static rung_status decode_operand(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *argument,
                                  const operand_spec_t *spec, int index, int *predicates)
{
    static const uint32_t negations[] = {PTX_FLAG_NEGATE_A, PTX_FLAG_NEGATE_B, PTX_FLAG_NEGATE_C};
    TRY(decode_second(parser, instruction, argument, spec));
    if (spec->is_immediate)
        return rungi_ptx_decode_immediate(parser, argument, &instruction->offset);
    if (argument->is_negated && (!spec->is_predicate || spec->is_destination))
        return rungi_ptx_decode_fail(parser, "\"!\" is valid before source predicates only");
    if (spec->is_destination)
        return rungi_ptx_decode_destination(parser, argument, spec->type, &instruction->operand[index]);
    if (spec->is_predicate)
        return rungi_ptx_decode_predicate(parser, instruction, argument, index, negations[(*predicates)++]);
    return rungi_ptx_decode_source(parser, argument, spec->type, &instruction->operand[index]);
}

/* Decodes operands as the row's specification says. */
static rung_status decode_operands(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const char *text = parser->statement.row->operands;
    int index = 0, predicates = 0;
    for (; *text; index++) {
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        operand_spec_t spec = read_spec(instruction, text, length);
        text += length;
        if (index >= parser->statement.argument_count) {
            if (spec.is_optional)
                return RUNG_OK;
            return rungi_ptx_decode_fail(parser, "an operand is missing");
        }
        TRY(decode_operand(parser, instruction, &parser->statement.arguments[index], &spec, index, &predicates));
    }
    return index == parser->statement.argument_count ? RUNG_OK : rungi_ptx_decode_fail(parser, "too many operands");
}

static ptx_decode_fn find_decoder(const char *name)
{
    static const ptx_decoder_t *const lists[] = {
        rungi_ptx_memory_decoders, rungi_ptx_control_decoders, rungi_ptx_move_decoders,
        rungi_ptx_warp_decoders,   rungi_ptx_matrix_decoders,  rungi_ptx_mma_decoders,
        rungi_ptx_hopper_decoders, rungi_ptx_bulk_decoders,    rungi_ptx_wgmma_decoders};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const ptx_decoder_t *decoder = lists[i]; decoder->name; decoder++)
            if (strcmp(decoder->name, name) == 0)
                return decoder->decode;
    return NULL;
}

/* Returns whether a slot of the statement has one of the packed types of 4 bits, 6 bits and scales. */
static bool has_small_pairs(const ptx_match_t *match)
{
    static const ptx_type_t types[] = {PTX_E2M1X2, PTX_E2M3X2, PTX_E3M2X2, PTX_UE8M0X2};
    ptx_type_t to = rungi_ptx_type_of(rungi_ptx_match_slot(match, "type"));
    ptx_type_t from = rungi_ptx_type_of(rungi_ptx_match_slot(match, "stype"));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i] == to || types[i] == from)
            return true;
    return false;
}

/* Checks the target of instructions that only some architectures have, without a promise of their successors. */
static rung_status check_target(const ptx_parser_t *parser)
{
    const ptx_statement_t *statement = &parser->statement;
    const ptx_module_t *module = parser->module;
    bool is_kind = rungi_string_view_equals(statement->opcode.name, "mma") &&
                   rungi_ptx_match_has(&statement->match, "kind");
    if (!is_kind && !has_small_pairs(&statement->match))
        return RUNG_OK;
    int first = is_kind ? 120 : 100, end = is_kind ? 130 : INT_MAX;
    if (module->target_suffix && module->target >= first && module->target < end)
        return RUNG_OK;
    char suffix[] = {module->target_suffix, 0};
    return PTX_DECODE_FAIL(
        parser, RUNG_STATUS_INVALID,
        "%.*s needs .target sm_%da or sm_%df, or a later one %swith such a suffix; the target is sm_%d%s",
        (int)statement->text.length, statement->text.text, first, first, is_kind ? "of this family " : "",
        module->target, suffix);
}

static rung_status find_row(ptx_parser_t *parser)
{
    ptx_statement_t *statement = &parser->statement;
    bool is_found = rungi_ptx_table_find(&statement->opcode, &statement->match);
    if (is_found)
        statement->row = rungi_ptx_table_row(statement->match.row);
    if (is_found && statement->row->entry.support != RUNG_EMULATOR_REFUSED)
        return check_target(parser);
    const char *reason = !is_found && statement->match.row < 0 ? "is not an instruction of PTX"
                         : !is_found                           ? "has a modifier that is not known"
                                                               : "is not implemented";
    char forms[320] = "";
    if (!is_found && statement->match.row >= 0)
        rungi_ptx_table_nearest(&statement->opcode, forms, sizeof forms);
    const char *note = is_found ? statement->row->entry.note : forms;
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "%.*s %s%s%s%s", (int)statement->text.length,
                           statement->text.text, reason, *note ? " (" : "", note, *note ? ")" : "");
}

rung_status rungi_ptx_decode(ptx_parser_t *parser)
{
    ptx_instruction_t instruction;
    char name[96];
    TRY(find_row(parser));
    begin_instruction(parser, &instruction);
    const char *executor = parser->statement.row->executor;
    if (*executor == '@') {
        ptx_decode_fn decode = find_decoder(executor + 1);
        if (!decode)
            return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "%.*s is not implemented",
                                   (int)parser->statement.text.length, parser->statement.text.text);
        TRY(decode(parser, &instruction));
    } else {
        TRY(decode_operands(parser, &instruction));
        expand_name(parser, &instruction, executor, name, sizeof name);
        TRY(rungi_ptx_decode_executor(parser, &instruction, "%s", name));
    }
    ptx_instruction_t *added = rungi_ptx_vector_append(&parser->instructions, sizeof *added, 1);
    if (!added)
        return RUNG_STATUS_NO_MEMORY;
    *added = instruction;
    return RUNG_OK;
}
