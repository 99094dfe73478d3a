/* SPDX-License-Identifier: Apache-2.0 */
/* parser_tokens.c - what all files of the parser use: accepts and expects tokens, and reports errors with their line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "emulator/ptx/parser.h"

rung_status rungi_ptx_parser_fail(const ptx_parser_t *parser, int line, rung_status status, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return rungi_fail(status, "%s:%d: %s", parser->module->name, line, message);
}

bool rungi_ptx_parser_is(const ptx_parser_t *parser, char punctuation)
{
    return parser->lexer.token.kind == PTX_TOKEN_PUNCTUATION && parser->lexer.token.punctuation == punctuation;
}

bool rungi_ptx_parser_accept(ptx_parser_t *parser, char punctuation)
{
    bool is_here = rungi_ptx_parser_is(parser, punctuation);
    if (is_here)
        rungi_ptx_lexer_next(&parser->lexer);
    return is_here;
}

rung_status rungi_ptx_parser_fail_expected(const ptx_parser_t *parser, const char *what)
{
    const ptx_token_t *token = &parser->lexer.token;
    int length = token->text.length > 40 ? 40 : (int)token->text.length;
    if (token->kind == PTX_TOKEN_END)
        return rungi_ptx_parser_fail(parser, token->line, RUNG_STATUS_INVALID, "expected %s, found the end of the text",
                                     what);
    return rungi_ptx_parser_fail(parser, token->line, RUNG_STATUS_INVALID, "expected %s, found \"%.*s\"", what, length,
                                 token->text.text);
}

rung_status rungi_ptx_parser_expect(ptx_parser_t *parser, char punctuation)
{
    char what[] = {'"', punctuation, '"', 0};
    return rungi_ptx_parser_accept(parser, punctuation) ? RUNG_OK : rungi_ptx_parser_fail_expected(parser, what);
}

bool rungi_ptx_parser_accept_dot(ptx_parser_t *parser, const char *name)
{
    bool is_here = parser->lexer.token.kind == PTX_TOKEN_DOT_NAME &&
                   rungi_string_view_equals(parser->lexer.token.text, name);
    if (is_here)
        rungi_ptx_lexer_next(&parser->lexer);
    return is_here;
}

rung_status rungi_ptx_parser_expect_name(ptx_parser_t *parser, rungi_string_view *name)
{
    if (parser->lexer.token.kind != PTX_TOKEN_NAME)
        return rungi_ptx_parser_fail_expected(parser, "a name");
    *name = parser->lexer.token.text;
    rungi_ptx_lexer_next(&parser->lexer);
    return RUNG_OK;
}

rung_status rungi_ptx_parser_expect_integer(ptx_parser_t *parser, int64_t *value)
{
    bool is_negative = rungi_ptx_parser_accept(parser, '-');
    if (parser->lexer.token.kind != PTX_TOKEN_INTEGER)
        return rungi_ptx_parser_fail_expected(parser, "an integer");
    uint64_t integer = parser->lexer.token.integer;
    *value = (int64_t)(is_negative ? 0 - integer : integer);
    rungi_ptx_lexer_next(&parser->lexer);
    return RUNG_OK;
}

ptx_type_t rungi_ptx_parser_accept_type(ptx_parser_t *parser)
{
    const ptx_token_t *token = &parser->lexer.token;
    ptx_type_t type = PTX_TYPE_NONE;
    if (token->kind == PTX_TOKEN_DOT_NAME)
        type = rungi_ptx_type_of(rungi_string_view_of(token->text.text + 1, token->text.length - 1));
    if (type != PTX_TYPE_NONE)
        rungi_ptx_lexer_next(&parser->lexer);
    return type;
}

char *rungi_ptx_copy_name(rungi_string_view name)
{
    char *copy = malloc(name.length + 1);
    if (!copy) {
        rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a PTX module");
        return NULL;
    }
    memcpy(copy, name.text, name.length);
    copy[name.length] = 0;
    return copy;
}

void rungi_ptx_parser_skip_directive(ptx_parser_t *parser)
{
    while (parser->lexer.token.kind != PTX_TOKEN_END && !rungi_ptx_parser_accept(parser, ';'))
        rungi_ptx_lexer_next(&parser->lexer);
}
