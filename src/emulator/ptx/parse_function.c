/* SPDX-License-Identifier: Apache-2.0 */
/* parse_function.c - parses the body of a function: registers, variables, labels, instructions and nested scopes. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/parser.h"

/* ---- Registers ----------------------------------------------------------------------------------------------------- */

enum { FRAME_BYTES_MAX = 1 << 26 };

rung_status rungi_ptx_check_frame(const ptx_parser_t *parser, int64_t count, int64_t bytes)
{
    if (count < 0 || bytes > FRAME_BYTES_MAX || count > FRAME_BYTES_MAX / (bytes ? bytes : 1) ||
        parser->function->frame_bytes + count * bytes > FRAME_BYTES_MAX)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_UNSUPPORTED,
                                     "the function has too many registers and parameters");
    return RUNG_OK;
}

/* Predicates are 4 bytes each; sixteen share one line of 64 bytes. */
static rung_status allocate_predicates(ptx_parser_t *parser, int64_t count, ptx_operand_t *operand)
{
    ptx_function_t *function = parser->function;
    TRY(rungi_ptx_check_frame(parser, count, 4));
    if (parser->predicate_slot + 4 * count > parser->predicate_slots_end) {
        parser->predicate_slot = function->frame_bytes;
        function->frame_bytes += (4 * count + 63) & -64;
        parser->predicate_slots_end = function->frame_bytes;
    }
    *operand = (ptx_operand_t)parser->predicate_slot | PTX_BASE_FRAME;
    parser->predicate_slot += 4 * count;
    return RUNG_OK;
}

rung_status rungi_ptx_allocate_registers(ptx_parser_t *parser, ptx_type_t type, int64_t count, ptx_operand_t *operand)
{
    ptx_function_t *function = parser->function;
    if (type == PTX_PRED)
        return allocate_predicates(parser, count, operand);
    int64_t bytes = (int64_t)PTX_WARP_LANES * rungi_ptx_register_bytes(type);
    TRY(rungi_ptx_check_frame(parser, count, bytes));
    ptx_register_area_t *area = rungi_ptx_vector_append(&parser->register_areas, sizeof *area, 1);
    if (!area)
        return RUNG_STATUS_NO_MEMORY;
    *operand = (ptx_operand_t)function->frame_bytes | PTX_BASE_FRAME;
    *area = (ptx_register_area_t){parser->function_index, function->frame_bytes, function->frame_bytes + count * bytes};
    function->frame_bytes += count * bytes;
    return RUNG_OK;
}

/* .reg .b32 %r<10>, %x; */
static rung_status parse_registers(ptx_parser_t *parser)
{
    ptx_type_t type = rungi_ptx_parser_accept_type(parser);
    if (type == PTX_TYPE_NONE)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_UNSUPPORTED,
                                     "\"%.*s\" is not a type of registers", (int)parser->lexer.token.text.length,
                                     parser->lexer.token.text.text);
    do {
        ptx_symbol_t symbol = {.kind = PTX_SYMBOL_REGISTER, .type = type, .count = 1};
        ptx_operand_t operand;
        TRY(rungi_ptx_parser_expect_name(parser, &symbol.name));
        if (rungi_ptx_parser_accept(parser, '<')) {
            symbol.kind = PTX_SYMBOL_REGISTER_RANGE;
            TRY(rungi_ptx_parser_expect_integer(parser, &symbol.count));
            TRY(rungi_ptx_parser_expect(parser, '>'));
        }
        TRY(rungi_ptx_allocate_registers(parser, type, symbol.count, &operand));
        symbol.value = operand;
        if (!rungi_ptx_symbols_add(&parser->symbols, &symbol))
            return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for symbols");
    } while (rungi_ptx_parser_accept(parser, ','));
    return rungi_ptx_parser_expect(parser, ';');
}

/* ---- Labels -------------------------------------------------------------------------------------------------------- */

static rung_status add_label(ptx_parser_t *parser, rungi_string_view name)
{
    ptx_symbol_t symbol = {.name = name, .kind = PTX_SYMBOL_LABEL, .value = parser->instructions.count};
    return rungi_ptx_symbols_add(&parser->symbols, &symbol)
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for symbols");
}

/* Resolves branches whose labels are visible in the scope that ends. Others wait for an outer scope: a label may be
 * defined after the branch, and scopes may reuse a label's name. */
static rung_status resolve_labels(ptx_parser_t *parser)
{
    ptx_fixup_t *fixups = parser->fixups.data;
    ptx_instruction_t *instructions = parser->instructions.data;
    int depth = parser->symbols.scope_count;
    int32_t left = 0;
    for (int32_t i = 0; i < parser->fixups.count; i++) {
        ptx_fixup_t fixup = fixups[i];
        const ptx_symbol_t *symbol = fixup.scope_depth >= depth ? rungi_ptx_symbols_find(&parser->symbols, fixup.name)
                                                                : NULL;
        bool is_in_scope = symbol && symbol->kind == PTX_SYMBOL_LABEL &&
                           symbol - parser->symbols.entries >= parser->symbols.scopes[depth - 1];
        if (!is_in_scope) {
            fixup.scope_depth = fixup.scope_depth >= depth ? depth - 1 : fixup.scope_depth;
            fixups[left++] = fixup;
        } else if (fixup.list_index >= 0) {
            ((ptx_operand_t *)parser->lists.data)[instructions[fixup.instruction].list_first + fixup.list_index] =
                (ptx_operand_t)symbol->value;
        } else {
            instructions[fixup.instruction].target = (int32_t)symbol->value;
        }
    }
    parser->fixups.count = left;
    return RUNG_OK;
}

/* name: .branchtargets a, b, c;   name: .calltargets f, g;   name: .callprototype _ (...) _ (...); */
static rung_status parse_targets(ptx_parser_t *parser, rungi_string_view label)
{
    ptx_targets_t *targets = rungi_ptx_vector_append(&parser->targets, sizeof *targets, 1);
    ptx_symbol_t symbol = {.name = label, .kind = PTX_SYMBOL_TARGETS, .value = parser->targets.count - 1};
    ptx_vector_t names = {0};
    if (!targets || !rungi_ptx_symbols_add(&parser->symbols, &symbol))
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for symbols");
    do {
        rungi_string_view *name = rungi_ptx_vector_append(&names, sizeof *name, 1);
        targets->names = names.data;
        targets->count = names.count;
        if (!name)
            return RUNG_STATUS_NO_MEMORY;
        TRY(rungi_ptx_parser_expect_name(parser, name));
    } while (rungi_ptx_parser_accept(parser, ','));
    return rungi_ptx_parser_expect(parser, ';');
}

static rung_status parse_prototype(ptx_parser_t *parser, rungi_string_view label)
{
    ptx_symbol_t symbol = {.name = label, .kind = PTX_SYMBOL_PROTOTYPE};
    while (parser->lexer.token.kind != PTX_TOKEN_END && !rungi_ptx_parser_accept(parser, ';'))
        rungi_ptx_lexer_next(&parser->lexer);
    return rungi_ptx_symbols_add(&parser->symbols, &symbol)
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for symbols");
}

/* ---- Instructions -------------------------------------------------------------------------------------------------- */

/* @p or @!p */
static rung_status parse_guard(ptx_parser_t *parser)
{
    ptx_statement_t *statement = &parser->statement;
    rungi_string_view name;
    int64_t number;
    statement->guard_negated = rungi_ptx_parser_accept(parser, '!');
    TRY(rungi_ptx_parser_expect_name(parser, &name));
    const ptx_symbol_t *symbol = rungi_ptx_symbols_find(&parser->symbols, name);
    if (symbol && symbol->kind == PTX_SYMBOL_REGISTER && symbol->type == PTX_PRED) {
        statement->guard = (ptx_operand_t)symbol->value;
        return RUNG_OK;
    }
    symbol = rungi_ptx_symbols_find_range(&parser->symbols, name, &number);
    if (!symbol || symbol->type != PTX_PRED)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                     "the guard \"%.*s\" is not a predicate", (int)name.length, name.text);
    statement->guard = (ptx_operand_t)(symbol->value + 4 * number);
    return RUNG_OK;
}

/* Parses an instruction whose opcode `name` was read. */
static rung_status parse_instruction(ptx_parser_t *parser, rungi_string_view name, int line)
{
    ptx_statement_t *statement = &parser->statement;
    ptx_opcode_t *opcode = &statement->opcode;
    const char *end = name.text + name.length;
    opcode->name = name;
    opcode->modifier_count = 0;
    while (parser->lexer.token.kind == PTX_TOKEN_DOT_NAME) {
        rungi_string_view text = parser->lexer.token.text;
        if (opcode->modifier_count == PTX_MODIFIERS_MAX)
            return rungi_ptx_parser_fail(parser, line, RUNG_STATUS_UNSUPPORTED,
                                         "an instruction has too many modifiers");
        opcode->modifiers[opcode->modifier_count++] = rungi_string_view_of(text.text + 1, text.length - 1);
        end = text.text + text.length;
        rungi_ptx_lexer_next(&parser->lexer);
    }
    statement->text = rungi_string_view_of(name.text, (size_t)(end - name.text));
    statement->line = line;
    TRY(rungi_ptx_parse_arguments(parser));
    return rungi_ptx_decode(parser);
}

/* Parses a directive inside a body. */
static rung_status parse_body_directive(ptx_parser_t *parser)
{
    static const struct {
        const char *name;
        ptx_space_t space;
    } spaces[] = {{".local", PTX_SPACE_LOCAL},
                  {".shared", PTX_SPACE_SHARED},
                  {".global", PTX_SPACE_GLOBAL},
                  {".const", PTX_SPACE_CONST},
                  {".param", PTX_SPACE_PARAM}};
    if (rungi_ptx_parser_accept_dot(parser, ".reg"))
        return parse_registers(parser);
    if (rungi_ptx_parser_accept_dot(parser, ".loc"))
        return rungi_ptx_parse_location(parser);
    bool is_extern = rungi_ptx_parser_accept_dot(parser, ".extern");
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (rungi_ptx_parser_accept_dot(parser, spaces[i].name))
            return rungi_ptx_parse_variables(parser, spaces[i].space, is_extern);
    if (rungi_ptx_parser_accept_dot(parser, ".pragma")) {
        while (parser->lexer.token.kind != PTX_TOKEN_END && !rungi_ptx_parser_accept(parser, ';'))
            rungi_ptx_lexer_next(&parser->lexer);
        return RUNG_OK;
    }
    return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_UNSUPPORTED,
                                 "the directive \"%.*s\" is not supported here", (int)parser->lexer.token.text.length,
                                 parser->lexer.token.text.text);
}

/* Parses one statement that begins with a name: a label or an instruction. */
static rung_status parse_named(ptx_parser_t *parser)
{
    rungi_string_view name;
    int line = parser->lexer.token.line;
    TRY(rungi_ptx_parser_expect_name(parser, &name));
    if (!rungi_ptx_parser_accept(parser, ':'))
        return parse_instruction(parser, name, line);
    if (rungi_ptx_parser_accept_dot(parser, ".branchtargets") || rungi_ptx_parser_accept_dot(parser, ".calltargets"))
        return parse_targets(parser, name);
    if (rungi_ptx_parser_accept_dot(parser, ".callprototype"))
        return parse_prototype(parser, name);
    return add_label(parser, name);
}

static rung_status parse_statement(ptx_parser_t *parser)
{
    parser->statement.guard = 0;
    parser->statement.guard_negated = false;
    if (rungi_ptx_parser_accept(parser, '@')) {
        rungi_string_view name;
        TRY(parse_guard(parser));
        int line = parser->lexer.token.line;
        TRY(rungi_ptx_parser_expect_name(parser, &name));
        return parse_instruction(parser, name, line);
    }
    if (parser->lexer.token.kind == PTX_TOKEN_DOT_NAME)
        return parse_body_directive(parser);
    if (parser->lexer.token.kind == PTX_TOKEN_NAME)
        return parse_named(parser);
    return rungi_ptx_parser_accept(parser, ';')
               ? RUNG_OK
               : rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                       "expected an instruction, found \"%.*s\"",
                                       parser->lexer.token.text.length > 40 ? 40 : (int)parser->lexer.token.text.length,
                                       parser->lexer.token.text.text);
}

/* Appends a ret, so that execution never runs past the end of the body. */
static rung_status append_return(ptx_parser_t *parser)
{
    ptx_statement_t *statement = &parser->statement;
    memset(&statement->opcode, 0, sizeof statement->opcode);
    statement->opcode.name = statement->text = rungi_string_view_of("ret", 3);
    statement->guard = 0;
    statement->argument_count = statement->element_count = 0;
    statement->line = parser->lexer.token.line;
    return rungi_ptx_decode(parser);
}

rung_status rungi_ptx_parse_body(ptx_parser_t *parser)
{
    int depth = 0;
    do {
        if (parser->lexer.token.kind == PTX_TOKEN_END)
            return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                         "the text ends inside of a function");
        if (rungi_ptx_parser_accept(parser, '{')) {
            depth++;
            if (!rungi_ptx_symbols_open(&parser->symbols))
                return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                             "scopes nest too deeply");
        } else if (depth > 0 && rungi_ptx_parser_is(parser, '}')) {
            depth--;
            if (depth == 0)
                TRY(append_return(parser));
            TRY(resolve_labels(parser));
            rungi_ptx_symbols_close(&parser->symbols);
            rungi_ptx_lexer_next(&parser->lexer);
        } else if (depth == 0) {
            return rungi_ptx_parser_expect(parser, '{');
        } else {
            TRY(parse_statement(parser));
        }
    } while (depth > 0);
    if (parser->fixups.count > 0) {
        const ptx_fixup_t *fixup = parser->fixups.data;
        return rungi_ptx_parser_fail(parser, fixup->line, RUNG_STATUS_INVALID, "the label \"%.*s\" is not defined",
                                     (int)fixup->name.length, fixup->name.text);
    }
    return RUNG_OK;
}
