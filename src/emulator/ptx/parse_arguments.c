/* SPDX-License-Identifier: Apache-2.0 */
/* parse_arguments.c - parses the arguments of an instruction: registers, numbers, addresses and lists. */
#include <string.h>

#include "base/try.h"
#include "emulator/ptx/parser.h"

static rung_status parse_argument(ptx_parser_t *parser, ptx_argument_t *argument);

static const struct {
    const char *name;
    int bits;
} special_registers[] = {
#define PTX_SPECIAL(enumerator, name, bits) {name, bits},
#include "emulator/ptx/special_registers.def"
#undef PTX_SPECIAL
};

/* Finds a special register. Its name may have two tokens, %tid and .x. */
static bool find_special(ptx_parser_t *parser, rungi_string_view name, ptx_argument_t *argument)
{
    char full[32];
    const ptx_token_t *next = &parser->lexer.token;
    bool has_component = next->kind == PTX_TOKEN_DOT_NAME && next->text.length == 2;
    if (name.length + 3 > sizeof full)
        return false;
    memcpy(full, name.text, name.length);
    full[name.length] = 0;
    if (has_component) {
        memcpy(full + name.length, next->text.text, 2);
        full[name.length + 2] = 0;
    }
    for (int i = 0; i < PTX_SPECIAL_COUNT; i++)
        if (strcmp(full, special_registers[i].name) == 0) {
            argument->kind = PTX_ARGUMENT_REGISTER;
            argument->operand = (ptx_operand_t)(i * PTX_SPECIAL_BYTES) | PTX_BASE_SPECIAL;
            argument->type = special_registers[i].bits == 64  ? PTX_B64
                             : special_registers[i].bits == 1 ? PTX_PRED
                                                              : PTX_B32;
            if (has_component)
                rungi_ptx_lexer_next(&parser->lexer);
            return true;
        }
    return false;
}

static ptx_operand_t range_operand(const ptx_symbol_t *symbol, int64_t number)
{
    int64_t bytes = symbol->type == PTX_PRED ? 4 : PTX_WARP_LANES * rungi_ptx_register_bytes(symbol->type);
    return (ptx_operand_t)(symbol->value + number * bytes);
}

/* Resolves a name. A name that is not known may be a label that follows. */
static void resolve_name(ptx_parser_t *parser, rungi_string_view name, ptx_argument_t *argument)
{
    int64_t number;
    const ptx_symbol_t *symbol = rungi_ptx_symbols_find(&parser->symbols, name);
    argument->name = name;
    if (!symbol) {
        symbol = rungi_ptx_symbols_find_range(&parser->symbols, name, &number);
        if (symbol) {
            argument->kind = PTX_ARGUMENT_REGISTER;
            argument->operand = range_operand(symbol, number);
            argument->type = symbol->type;
            rungi_ptx_mention(parser, argument->operand, argument->type, false);
        } else if (!find_special(parser, name, argument)) {
            argument->kind = PTX_ARGUMENT_NAME;
        }
        return;
    }
    argument->symbol = *symbol;
    argument->kind = PTX_ARGUMENT_SYMBOL;
    if (symbol->kind == PTX_SYMBOL_REGISTER) {
        argument->kind = PTX_ARGUMENT_REGISTER;
        argument->operand = (ptx_operand_t)symbol->value;
        argument->type = symbol->type;
        rungi_ptx_mention(parser, argument->operand, argument->type, false);
    } else if (symbol->kind == PTX_SYMBOL_LABEL || symbol->kind == PTX_SYMBOL_PROTOTYPE) {
        argument->kind = PTX_ARGUMENT_NAME;
    }
}

static rung_status parse_number(ptx_parser_t *parser, bool is_negative, ptx_argument_t *argument)
{
    const ptx_token_t *token = &parser->lexer.token;
    argument->integer = token->integer;
    switch (token->kind) {
    case PTX_TOKEN_INTEGER:
        argument->kind = PTX_ARGUMENT_INTEGER;
        argument->integer = is_negative ? 0 - token->integer : token->integer;
        break;
    case PTX_TOKEN_F32:
        argument->kind = PTX_ARGUMENT_F32;
        argument->integer ^= is_negative ? 0x80000000u : 0;
        break;
    case PTX_TOKEN_F64:
        argument->kind = PTX_ARGUMENT_F64;
        argument->integer ^= is_negative ? (uint64_t)1 << 63 : 0;
        break;
    default:
        return rungi_ptx_parser_fail(parser, token->line, RUNG_STATUS_INVALID, "expected an operand, found \"%.*s\"",
                                     token->text.length > 40 ? 40 : (int)token->text.length, token->text.text);
    }
    rungi_ptx_lexer_next(&parser->lexer);
    return RUNG_OK;
}

/* Parses elements up to `end` into the statement. Elements of one list follow each other; lists do not nest. */
static rung_status parse_list(ptx_parser_t *parser, char end, ptx_argument_t *argument)
{
    ptx_statement_t *statement = &parser->statement;
    argument->first = statement->element_count;
    while (!rungi_ptx_parser_accept(parser, end)) {
        ptx_argument_t element = {0};
        TRY(parse_argument(parser, &element));
        if (element.kind == PTX_ARGUMENT_LIST || element.kind == PTX_ARGUMENT_ADDRESS)
            return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                         "a list inside of a list is not valid here");
        if (statement->element_count == PTX_ELEMENTS_MAX)
            return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_UNSUPPORTED,
                                         "an instruction has more than %d elements in lists", PTX_ELEMENTS_MAX);
        statement->elements[statement->element_count++] = element;
        if (!rungi_ptx_parser_accept(parser, ',') && !rungi_ptx_parser_is(parser, end))
            return rungi_ptx_parser_expect(parser, end);
    }
    argument->count = statement->element_count - argument->first;
    return RUNG_OK;
}

/* Parses "+ 4", "+ -4" and "- 4" after a base. */
static rung_status parse_offset(ptx_parser_t *parser, int64_t *offset)
{
    while (rungi_ptx_parser_is(parser, '+') || rungi_ptx_parser_is(parser, '-')) {
        int64_t value;
        rungi_ptx_parser_accept(parser, '+');
        TRY(rungi_ptx_parser_expect_integer(parser, &value));
        *offset = (int64_t)((uint64_t)*offset + (uint64_t)value);
    }
    return RUNG_OK;
}

/* [base], [base + offset], [base, {x, y}] */
static rung_status parse_address(ptx_parser_t *parser, ptx_argument_t *argument)
{
    if (parser->lexer.token.kind == PTX_TOKEN_NAME) {
        rungi_string_view name;
        TRY(rungi_ptx_parser_expect_name(parser, &name));
        resolve_name(parser, name, argument);
        if (argument->kind == PTX_ARGUMENT_NAME)
            return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                         "\"%.*s\" is not declared", (int)name.length, name.text);
    } else {
        TRY(parse_number(parser, false, argument));
        argument->offset = (int64_t)argument->integer;
    }
    argument->base = argument->kind;
    argument->kind = PTX_ARGUMENT_ADDRESS;
    TRY(parse_offset(parser, &argument->offset));
    if (rungi_ptx_parser_accept(parser, ',')) {
        TRY(rungi_ptx_parser_expect(parser, '{'));
        TRY(parse_list(parser, '}', argument));
    }
    return rungi_ptx_parser_expect(parser, ']');
}

/* d|p */
static rung_status parse_second(ptx_parser_t *parser, ptx_argument_t *argument)
{
    ptx_argument_t second = {0};
    TRY(parse_argument(parser, &second));
    argument->has_second = true;
    if (second.kind == PTX_ARGUMENT_SINK)
        return RUNG_OK;
    if (second.kind != PTX_ARGUMENT_REGISTER)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                     "a register must follow \"|\"");
    argument->second = second.operand;
    argument->second_type = second.type;
    return RUNG_OK;
}

static rung_status parse_argument(ptx_parser_t *parser, ptx_argument_t *argument)
{
    bool is_negative = false;
    if (rungi_ptx_parser_accept(parser, '{')) {
        argument->kind = PTX_ARGUMENT_LIST;
        return parse_list(parser, '}', argument);
    }
    if (rungi_ptx_parser_accept(parser, '(')) {
        argument->kind = PTX_ARGUMENT_LIST;
        return parse_list(parser, ')', argument);
    }
    if (rungi_ptx_parser_accept(parser, '['))
        return parse_address(parser, argument);
    if (rungi_ptx_parser_accept(parser, '!'))
        argument->is_negated = true;
    else
        is_negative = rungi_ptx_parser_accept(parser, '-');
    if (parser->lexer.token.kind != PTX_TOKEN_NAME)
        return parse_number(parser, is_negative, argument);

    rungi_string_view name;
    TRY(rungi_ptx_parser_expect_name(parser, &name));
    if (rungi_string_view_equals(name, "_"))
        argument->kind = PTX_ARGUMENT_SINK;
    else
        resolve_name(parser, name, argument);
    if (is_negative)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_UNSUPPORTED,
                                     "a register with a minus sign is not supported");
    if (argument->kind == PTX_ARGUMENT_SYMBOL)
        TRY(parse_offset(parser, &argument->offset));
    return rungi_ptx_parser_accept(parser, '|') ? parse_second(parser, argument) : RUNG_OK;
}

rung_status rungi_ptx_parse_arguments(ptx_parser_t *parser)
{
    ptx_statement_t *statement = &parser->statement;
    statement->argument_count = statement->element_count = 0;
    while (!rungi_ptx_parser_accept(parser, ';')) {
        if (statement->argument_count == PTX_ARGUMENTS_MAX)
            return rungi_ptx_parser_fail(parser, statement->line, RUNG_STATUS_UNSUPPORTED,
                                         "an instruction has more than %d arguments", PTX_ARGUMENTS_MAX);
        ptx_argument_t *argument = &statement->arguments[statement->argument_count++];
        memset(argument, 0, sizeof *argument);
        TRY(parse_argument(parser, argument));
        if (!rungi_ptx_parser_accept(parser, ',') && !rungi_ptx_parser_is(parser, ';'))
            return rungi_ptx_parser_expect(parser, ';');
    }
    return RUNG_OK;
}
