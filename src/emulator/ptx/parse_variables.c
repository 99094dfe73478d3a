/* SPDX-License-Identifier: Apache-2.0 */
/* parse_variables.c - parses declarations of variables in all spaces, with their initial values. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/parse_declarations.h"

/* The architecture has 512 KiB of local memory per thread. */
enum { LOCAL_BYTES_MAX = 512 << 10, BRACES_MAX = 16 };

static rung_status parse_dimensions(ptx_parser_t *parser, ptx_declaration_t *declaration)
{
    declaration->elements = 1;
    while (rungi_ptx_parser_accept(parser, '[')) {
        int64_t size = 0;
        if (rungi_ptx_parser_is(parser, ']'))
            declaration->is_unsized = true;
        else
            TRY(rungi_ptx_parser_expect_integer(parser, &size));
        if (size < 0 || size > (int64_t)1 << 40 || (size > 0 && declaration->elements > ((int64_t)1 << 40) / size))
            return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                         "an array of %lld elements is too large", (long long)size);
        declaration->elements *= declaration->is_unsized ? 1 : size;
        TRY(rungi_ptx_parser_expect(parser, ']'));
    }
    return RUNG_OK;
}

static int64_t element_bytes(const ptx_declaration_t *declaration)
{
    int bits = rungi_ptx_type_bits(declaration->type);
    int64_t bytes = bits < 8 ? 1 : bits / 8;
    return bytes * declaration->vector_length;
}

/* Writes one initial value: a number, or the address of a variable or a function. */
static rung_status parse_initial_value(ptx_parser_t *parser, const ptx_declaration_t *declaration, unsigned char *to)
{
    ptx_lexer_t *lexer = &parser->lexer;
    int bytes = (int)(element_bytes(declaration) / declaration->vector_length);
    bool is_negative = rungi_ptx_parser_accept(parser, '-');
    uint64_t value = lexer->token.integer;
    if (lexer->token.kind == PTX_TOKEN_F64 && declaration->type == PTX_F32) {
        double wide;
        float narrow;
        memcpy(&wide, &value, sizeof wide);
        narrow = (float)wide;
        value = 0;
        memcpy(&value, &narrow, sizeof narrow);
    } else if (lexer->token.kind == PTX_TOKEN_NAME) {
        rungi_string_view name;
        bool is_generic = rungi_string_view_equals(lexer->token.text, "generic");
        if (is_generic) {
            rungi_ptx_lexer_next(lexer);
            TRY(rungi_ptx_parser_expect(parser, '('));
        }
        TRY(rungi_ptx_parser_expect_name(parser, &name));
        const ptx_symbol_t *symbol = rungi_ptx_symbols_find(&parser->symbols, name);
        if (!symbol || (symbol->kind != PTX_SYMBOL_VARIABLE && symbol->kind != PTX_SYMBOL_FUNCTION) ||
            symbol->space == PTX_SPACE_SHARED)
            return rungi_ptx_parser_fail(parser, lexer->token.line, RUNG_STATUS_UNSUPPORTED,
                                         "the initial value \"%.*s\" is not a variable in global memory or a function",
                                         (int)name.length, name.text);
        value = (uint64_t)symbol->value;
        if (is_generic)
            TRY(rungi_ptx_parser_expect(parser, ')'));
        if (rungi_ptx_parser_accept(parser, '+')) {
            int64_t addend;
            TRY(rungi_ptx_parser_expect_integer(parser, &addend));
            value += (uint64_t)addend;
        }
        memcpy(to, &value, (size_t)(bytes > 8 ? 8 : bytes));
        return RUNG_OK;
    } else if (lexer->token.kind != PTX_TOKEN_INTEGER && lexer->token.kind != PTX_TOKEN_F32 &&
               lexer->token.kind != PTX_TOKEN_F64) {
        return rungi_ptx_parser_fail_expected(parser, "an initial value");
    }
    if (is_negative)
        value = lexer->token.kind == PTX_TOKEN_INTEGER ? 0 - value
                                                       : value ^ (uint64_t)1 << (bytes > 8 ? 63 : 8 * bytes - 1);
    memcpy(to, &value, (size_t)(bytes > 8 ? 8 : bytes));
    rungi_ptx_lexer_next(lexer);
    return RUNG_OK;
}

/* Parses {a, {b, c}, d}: nested braces are rows of an array, which follow each other in memory. */
static rung_status parse_initial_values(ptx_parser_t *parser, const ptx_declaration_t *declaration,
                                        unsigned char *contents, int depth, int64_t *used)
{
    if (depth > BRACES_MAX)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                     "initial values nest more than %d deep", BRACES_MAX);
    int64_t step = element_bytes(declaration) / declaration->vector_length;
    if (!rungi_ptx_parser_accept(parser, '{')) {
        if (*used + step > declaration->bytes)
            return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                         "more initial values than elements");
        TRY(parse_initial_value(parser, declaration, contents + *used));
        *used += step;
        return RUNG_OK;
    }
    while (!rungi_ptx_parser_accept(parser, '}')) {
        TRY(parse_initial_values(parser, declaration, contents, depth + 1, used));
        if (!rungi_ptx_parser_accept(parser, ',') && !rungi_ptx_parser_is(parser, '}'))
            return rungi_ptx_parser_fail_expected(parser, "\",\" or \"}\"");
    }
    return RUNG_OK;
}

static rung_status add_global(ptx_parser_t *parser, const ptx_declaration_t *declaration, ptx_symbol_t *symbol)
{
    unsigned char *contents = NULL;
    int64_t used = 0, step = element_bytes(declaration) / declaration->vector_length;
    rung_status status = RUNG_OK;
    if (rungi_ptx_parser_accept(parser, '=')) {
        /* Every value takes a character of the text, so that a large variable with few values needs little memory. */
        int64_t most = ((int64_t)parser->module->text_bytes + 1) * step;
        contents = calloc((size_t)(declaration->bytes < most ? declaration->bytes : most) + 16, 1);
        if (!contents)
            return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a variable of %lld bytes",
                              (long long)declaration->bytes);
        status = parse_initial_values(parser, declaration, contents, 0, &used);
    }
    ptx_variable_t *variable = status == RUNG_OK ? rungi_ptx_vector_append(&parser->variables, sizeof *variable, 1)
                                                 : NULL;
    if (status == RUNG_OK && !variable)
        status = RUNG_STATUS_NO_MEMORY;
    if (status == RUNG_OK) {
        *variable = (ptx_variable_t){.space = declaration->space,
                                     .bytes = declaration->bytes,
                                     .alignment = declaration->alignment,
                                     .is_extern = declaration->is_extern};
        variable->name = rungi_ptx_copy_name(declaration->name);
        status = !variable->name
                     ? RUNG_STATUS_NO_MEMORY
                     : parser->environment->allocate(parser->environment->user, variable->name, declaration->bytes,
                                                     declaration->alignment, contents, used,
                                                     declaration->space == PTX_SPACE_CONST, &variable->address);
        symbol->value = (int64_t)variable->address;
    }
    free(contents);
    return status;
}

static rung_status add_shared(ptx_parser_t *parser, const ptx_declaration_t *declaration, ptx_symbol_t *symbol)
{
    ptx_shared_variable_t *variable = rungi_ptx_vector_append(&parser->shared_variables, sizeof *variable, 1);
    if (!variable)
        return RUNG_STATUS_NO_MEMORY;
    variable->name = declaration->name;
    variable->bytes = declaration->is_unsized ? 0 : declaration->bytes;
    variable->alignment = declaration->alignment;
    variable->is_dynamic = declaration->is_unsized;
    symbol->value = parser->shared_variables.count - 1;
    symbol->is_dynamic_shared = variable->is_dynamic;
    return RUNG_OK;
}

static rung_status add_variable(ptx_parser_t *parser, const ptx_declaration_t *declaration)
{
    ptx_symbol_t symbol = {.name = declaration->name,
                           .kind = PTX_SYMBOL_VARIABLE,
                           .type = declaration->type,
                           .space = declaration->space,
                           .bytes = declaration->bytes};
    ptx_function_t *function = parser->function;
    switch (declaration->space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST: TRY(add_global(parser, declaration, &symbol)); break;
    case PTX_SPACE_SHARED: TRY(add_shared(parser, declaration, &symbol)); break;
    case PTX_SPACE_LOCAL:
        if (!function)
            return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_UNSUPPORTED,
                                         "local variables outside of functions are not supported");
        function->local_bytes = (function->local_bytes + declaration->alignment - 1) & -declaration->alignment;
        symbol.value = function->local_bytes;
        if (declaration->bytes > LOCAL_BYTES_MAX - function->local_bytes)
            return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                         "the function has more than %d bytes of local memory per thread",
                                         LOCAL_BYTES_MAX);
        function->local_bytes += declaration->bytes;
        break;
    default: /* a parameter of a call: 32 lanes of `bytes` in the frame */
        symbol.kind = PTX_SYMBOL_PARAMETER;
        symbol.space = PTX_SPACE_FUNCTION_PARAM;
        symbol.bytes = (declaration->bytes + 15) & -16;
        TRY(rungi_ptx_check_frame(parser, PTX_WARP_LANES, symbol.bytes));
        symbol.value = function->frame_bytes;
        function->frame_bytes += (PTX_WARP_LANES * symbol.bytes + 63) & -64;
        break;
    }
    return rungi_ptx_symbols_add(&parser->symbols, &symbol)
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for symbols");
}

rung_status rungi_ptx_parse_declared_type(ptx_parser_t *parser, ptx_declaration_t *declaration)
{
    declaration->vector_length = 1;
    for (;;) {
        ptx_type_t type = rungi_ptx_parser_accept_type(parser);
        if (type != PTX_TYPE_NONE) {
            declaration->type = type;
        } else if (rungi_ptx_parser_accept_dot(parser, ".align")) {
            TRY(rungi_ptx_parser_expect_integer(parser, &declaration->alignment));
            if (declaration->alignment < 1 || declaration->alignment > 1 << 16 ||
                (declaration->alignment & (declaration->alignment - 1)))
                return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                             "the alignment %lld is not a power of two up to 65536",
                                             (long long)declaration->alignment);
        } else if (rungi_ptx_parser_accept_dot(parser, ".v2")) {
            declaration->vector_length = 2;
        } else if (rungi_ptx_parser_accept_dot(parser, ".v4")) {
            declaration->vector_length = 4;
        } else if (rungi_ptx_parser_accept_dot(parser, ".attribute")) { /* .managed, .unified: no effect */
            while (parser->lexer.token.kind != PTX_TOKEN_END && !rungi_ptx_parser_accept(parser, ')'))
                rungi_ptx_lexer_next(&parser->lexer);
        } else if (rungi_ptx_parser_accept_dot(parser, ".ptr") || rungi_ptx_parser_accept_dot(parser, ".global") ||
                   rungi_ptx_parser_accept_dot(parser, ".shared") || rungi_ptx_parser_accept_dot(parser, ".const") ||
                   rungi_ptx_parser_accept_dot(parser, ".local")) {
            continue; /* what a pointer parameter points to */
        } else {
            break;
        }
    }
    return declaration->type != PTX_TYPE_NONE ? RUNG_OK : rungi_ptx_parser_fail_expected(parser, "a type");
}

rung_status rungi_ptx_parse_declared_name(ptx_parser_t *parser, ptx_declaration_t *declaration)
{
    TRY(rungi_ptx_parser_expect_name(parser, &declaration->name));
    TRY(parse_dimensions(parser, declaration));
    declaration->bytes = element_bytes(declaration) * declaration->elements;
    if (declaration->alignment < element_bytes(declaration))
        declaration->alignment = element_bytes(declaration);
    return RUNG_OK;
}

rung_status rungi_ptx_parse_variables(ptx_parser_t *parser, ptx_space_t space, bool is_extern)
{
    ptx_declaration_t declaration = {.space = space, .is_extern = is_extern};
    TRY(rungi_ptx_parse_declared_type(parser, &declaration));
    do {
        ptx_declaration_t each = declaration;
        TRY(rungi_ptx_parse_declared_name(parser, &each));
        TRY(add_variable(parser, &each));
    } while (rungi_ptx_parser_accept(parser, ','));
    return rungi_ptx_parser_expect(parser, ';');
}
