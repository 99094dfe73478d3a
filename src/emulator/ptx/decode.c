/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - turns a parsed statement into an instruction, as its row of instructions.def says. */
#include "emulator/ptx/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"

/* ---- Operands ------------------------------------------------------------------------------------------------------ */

rung_status rungi_ptx_decode_count(const ptx_parser_t *parser, int min, int max)
{
    int count = parser->statement.argument_count;
    if (count >= min && count <= max)
        return RUNG_OK;
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s has %d operands; it takes %d to %d",
                           (int)parser->statement.text.length, parser->statement.text.text, count, min, max);
}

static rung_status fail_operand(const ptx_parser_t *parser, const char *reason)
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
        return fail_operand(parser, "a single-precision number where a double is expected");
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
            return fail_operand(parser, "a register has a different size than the instruction's type");
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
        return fail_operand(parser, "the address of this name is not supported here");
    default: return fail_operand(parser, "an operand is not a register or a number");
    }
}

rung_status rungi_ptx_decode_destination(ptx_parser_t *parser, const ptx_argument_t *argument, ptx_type_t type,
                                         ptx_operand_t *operand)
{
    if (argument->kind == PTX_ARGUMENT_SINK)
        return rungi_ptx_allocate_registers(parser, type, 1, operand);
    if (argument->kind != PTX_ARGUMENT_REGISTER || (argument->operand & PTX_BASE_MASK) != PTX_BASE_FRAME)
        return fail_operand(parser, "the destination is not a register");
    if ((argument->type == PTX_PRED) != (type == PTX_PRED) ||
        rungi_ptx_register_bytes(argument->type) != rungi_ptx_register_bytes(type))
        return fail_operand(parser, "the destination has a different size than the instruction's type");
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
        return fail_operand(parser, "a register is smaller than the instruction's type");
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
        return fail_operand(parser, "an operand is not a predicate");
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
        return fail_operand(parser, "the address is not that of a variable");
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
            return fail_operand(parser, "the offset is outside of the parameter");
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
        return fail_operand(parser, "the operand is not an address in brackets");
    if (!is_second)
        instruction->address_bytes = 8;
    if (argument->base == PTX_ARGUMENT_SYMBOL)
        return decode_symbol_address(parser, instruction, argument, index, is_second);
    instruction->operand[index] = 0;
    *(is_second ? &instruction->offset2 : &instruction->offset) = argument->offset;
    if (argument->base == PTX_ARGUMENT_REGISTER) {
        int bytes = rungi_ptx_register_bytes(argument->type);
        if (argument->type == PTX_PRED || (bytes != 4 && bytes != 8) || (bytes == 4 && space == PTX_SPACE_GLOBAL))
            return fail_operand(parser, "the address register has the wrong size");
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
        return fail_operand(parser, "an operand is not an integer constant");
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
        return fail_operand(parser, "\"|\" is not valid here");
    if (spec->has_second && !spec->second_is_optional && !argument->has_second)
        return fail_operand(parser, "a second destination after \"|\" is missing");
    if (argument->second && argument->second_type != spec->second_type)
        return fail_operand(parser, "the register after \"|\" is not a predicate");
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
        return fail_operand(parser, "\"!\" is valid before source predicates only");
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
            return fail_operand(parser, "an operand is missing");
        }
        TRY(decode_operand(parser, instruction, &parser->statement.arguments[index], &spec, index, &predicates));
    }
    return index == parser->statement.argument_count ? RUNG_OK : fail_operand(parser, "too many operands");
}

static ptx_decode_fn find_decoder(const char *name)
{
    static const ptx_decoder_t *const lists[] = {rungi_ptx_memory_decoders, rungi_ptx_control_decoders,
                                                 rungi_ptx_move_decoders,   rungi_ptx_warp_decoders,
                                                 rungi_ptx_matrix_decoders, rungi_ptx_hopper_decoders};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const ptx_decoder_t *decoder = lists[i]; decoder->name; decoder++)
            if (strcmp(decoder->name, name) == 0)
                return decoder->decode;
    return NULL;
}

static rung_status find_row(ptx_parser_t *parser)
{
    ptx_statement_t *statement = &parser->statement;
    bool is_found = rungi_ptx_table_find(&statement->opcode, &statement->match);
    if (is_found)
        statement->row = rungi_ptx_table_row(statement->match.row);
    if (is_found && statement->row->entry.support != RUNG_EMULATOR_REFUSED)
        return RUNG_OK;
    const char *reason = !is_found && statement->match.row < 0 ? "is not an instruction of PTX"
                         : !is_found                           ? "has a modifier that is not known"
                                                               : "is not implemented";
    const char *note = is_found ? statement->row->entry.note : "";
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
