/* SPDX-License-Identifier: Apache-2.0 */
/* parser.c - see parser.h. This file parses directives at module level; parse_function.c parses bodies. */
#include "emulator/ptx/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"

/* ---- Helpers of all parts of the parser ---------------------------------------------------------------------------- */

rung_status rungi_ptx_parser_fail(const ptx_parser_t *parser, int line, rung_status status, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return rungi_fail(status, "%s:%d: %s", parser->module->name, line, message);
}

void *rungi_ptx_vector_append(ptx_vector_t *vector, size_t size, int32_t count)
{
    if (count > INT32_MAX - vector->count) {
        rungi_fail(RUNG_STATUS_NO_MEMORY, "the module is too large");
        return NULL;
    }
    int32_t needed = vector->count + count;
    if (needed > vector->capacity) {
        int32_t capacity = vector->capacity < 64 ? 64 : vector->capacity;
        while (capacity < needed)
            capacity = capacity > INT32_MAX / 2 ? INT32_MAX : 2 * capacity;
        void *data = (size_t)capacity <= SIZE_MAX / size ? realloc(vector->data, (size_t)capacity * size) : NULL;
        if (!data) {
            rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a PTX module");
            return NULL;
        }
        vector->data = data;
        vector->capacity = capacity;
    }
    void *added = (char *)vector->data + (size_t)vector->count * size;
    memset(added, 0, (size_t)count * size);
    vector->count = needed;
    return added;
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

static rung_status fail_expected(const ptx_parser_t *parser, const char *what)
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
    return rungi_ptx_parser_accept(parser, punctuation) ? RUNG_OK : fail_expected(parser, what);
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
        return fail_expected(parser, "a name");
    *name = parser->lexer.token.text;
    rungi_ptx_lexer_next(&parser->lexer);
    return RUNG_OK;
}

rung_status rungi_ptx_parser_expect_integer(ptx_parser_t *parser, int64_t *value)
{
    bool is_negative = rungi_ptx_parser_accept(parser, '-');
    if (parser->lexer.token.kind != PTX_TOKEN_INTEGER)
        return fail_expected(parser, "an integer");
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

static char *copy_name(rungi_string_view name)
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

/* Skips to the end of a directive that has no effect here. */
static void skip_to_semicolon(ptx_parser_t *parser)
{
    while (parser->lexer.token.kind != PTX_TOKEN_END && !rungi_ptx_parser_accept(parser, ';'))
        rungi_ptx_lexer_next(&parser->lexer);
}

static rung_status skip_braces(ptx_parser_t *parser)
{
    int depth = 0;
    while (parser->lexer.token.kind != PTX_TOKEN_END) {
        depth += rungi_ptx_parser_is(parser, '{') - rungi_ptx_parser_is(parser, '}');
        rungi_ptx_lexer_next(&parser->lexer);
        if (depth == 0)
            return RUNG_OK;
    }
    return fail_expected(parser, "\"}\"");
}

/* ---- Variables ----------------------------------------------------------------------------------------------------- */

typedef struct declaration { /* one declared name */
    rungi_string_view name;
    ptx_type_t type;
    int vector_length;
    int64_t alignment, elements, bytes;
    bool is_unsized; /* name[] */
    ptx_space_t space;
    bool is_extern;
} declaration_t;

static rung_status parse_dimensions(ptx_parser_t *parser, declaration_t *declaration)
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

static int64_t element_bytes(const declaration_t *declaration)
{
    int bits = rungi_ptx_type_bits(declaration->type);
    return (bits < 8 ? 1 : bits / 8) * declaration->vector_length;
}

/* Writes one initial value: a number, or the address of a variable or a function. */
static rung_status parse_initial_value(ptx_parser_t *parser, const declaration_t *declaration, unsigned char *to)
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
        memcpy(to, &value, (size_t)bytes);
        return RUNG_OK;
    } else if (lexer->token.kind != PTX_TOKEN_INTEGER && lexer->token.kind != PTX_TOKEN_F32 &&
               lexer->token.kind != PTX_TOKEN_F64) {
        return fail_expected(parser, "an initial value");
    }
    if (is_negative)
        value = lexer->token.kind == PTX_TOKEN_INTEGER ? 0 - value : value ^ (uint64_t)1 << (8 * bytes - 1);
    memcpy(to, &value, (size_t)(bytes > 8 ? 8 : bytes));
    rungi_ptx_lexer_next(lexer);
    return RUNG_OK;
}

/* Parses {a, {b, c}, d}: nested braces are rows of an array, which follow each other in memory. */
static rung_status parse_initial_values(ptx_parser_t *parser, const declaration_t *declaration, unsigned char *contents,
                                        int64_t *used)
{
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
        TRY(parse_initial_values(parser, declaration, contents, used));
        if (!rungi_ptx_parser_accept(parser, ',') && !rungi_ptx_parser_is(parser, '}'))
            return fail_expected(parser, "\",\" or \"}\"");
    }
    return RUNG_OK;
}

static rung_status add_global(ptx_parser_t *parser, const declaration_t *declaration, ptx_symbol_t *symbol)
{
    unsigned char *contents = NULL;
    int64_t used = 0;
    rung_status status = RUNG_OK;
    if (rungi_ptx_parser_accept(parser, '=')) {
        contents = calloc((size_t)declaration->bytes + 16, 1);
        if (!contents)
            return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a variable of %lld bytes",
                              (long long)declaration->bytes);
        status = parse_initial_values(parser, declaration, contents, &used);
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
        variable->name = copy_name(declaration->name);
        status = !variable->name
                     ? RUNG_STATUS_NO_MEMORY
                     : parser->environment->allocate(parser->environment->user, variable->name, declaration->bytes,
                                                     declaration->alignment, contents,
                                                     declaration->space == PTX_SPACE_CONST, &variable->address);
        symbol->value = (int64_t)variable->address;
    }
    free(contents);
    return status;
}

static rung_status add_shared(ptx_parser_t *parser, const declaration_t *declaration, ptx_symbol_t *symbol)
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

static rung_status add_variable(ptx_parser_t *parser, const declaration_t *declaration)
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
        function->local_bytes += declaration->bytes;
        break;
    default: /* a parameter of a call: 32 lanes of `bytes` in the frame */
        symbol.kind = PTX_SYMBOL_PARAMETER;
        symbol.space = PTX_SPACE_FUNCTION_PARAM;
        symbol.bytes = (declaration->bytes + 15) & -16;
        symbol.value = function->frame_bytes;
        function->frame_bytes += (PTX_WARP_LANES * symbol.bytes + 63) & -64;
        break;
    }
    return rungi_ptx_symbols_add(&parser->symbols, &symbol)
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for symbols");
}

/* Parses attributes, type and vector length in any order: .align 16 .v4 .f32. */
static rung_status parse_declared_type(ptx_parser_t *parser, declaration_t *declaration)
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
    return declaration->type != PTX_TYPE_NONE ? RUNG_OK : fail_expected(parser, "a type");
}

/* Completes a declaration whose type is known: the name and the array's size. */
static rung_status parse_declared_name(ptx_parser_t *parser, declaration_t *declaration)
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
    declaration_t declaration = {.space = space, .is_extern = is_extern};
    TRY(parse_declared_type(parser, &declaration));
    do {
        declaration_t each = declaration;
        TRY(parse_declared_name(parser, &each));
        TRY(add_variable(parser, &each));
    } while (rungi_ptx_parser_accept(parser, ','));
    return rungi_ptx_parser_expect(parser, ';');
}

/* ---- Functions ----------------------------------------------------------------------------------------------------- */

/* Parses one parameter of a function or a kernel. `offset` is the end of the parameters before it. */
static rung_status parse_parameter(ptx_parser_t *parser, ptx_vector_t *parameters, int64_t *offset)
{
    declaration_t declaration = {.space = PTX_SPACE_PARAM};
    if (!rungi_ptx_parser_accept_dot(parser, ".param") && !rungi_ptx_parser_accept_dot(parser, ".reg"))
        return fail_expected(parser, "\".param\"");
    TRY(parse_declared_type(parser, &declaration));
    TRY(parse_declared_name(parser, &declaration));
    ptx_parameter_t *parameter = rungi_ptx_vector_append(parameters, sizeof *parameter, 1);
    if (!parameter)
        return RUNG_STATUS_NO_MEMORY;
    parameter->offset = (*offset + declaration.alignment - 1) & -declaration.alignment;
    parameter->bytes = declaration.bytes;
    parameter->alignment = declaration.alignment;
    parameter->name = copy_name(declaration.name);
    *offset = parameter->offset + parameter->bytes;
    if (*offset > 32764)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                     "the parameters are larger than 32764 bytes");
    return parameter->name ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

static void free_parameters(ptx_parameter_t *parameters, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        free(parameters[i].name);
    free(parameters);
}

static rung_status parse_parameters(ptx_parser_t *parser, ptx_parameter_t **parameters, int32_t *count, int64_t *bytes)
{
    ptx_vector_t vector = {0};
    rung_status status = RUNG_OK;
    *bytes = 0;
    while (status == RUNG_OK && !rungi_ptx_parser_is(parser, ')')) {
        status = parse_parameter(parser, &vector, bytes);
        if (status == RUNG_OK && !rungi_ptx_parser_accept(parser, ',') && !rungi_ptx_parser_is(parser, ')'))
            status = fail_expected(parser, "\",\" or \")\"");
    }
    *parameters = vector.data;
    *count = vector.count;
    return status == RUNG_OK ? rungi_ptx_parser_expect(parser, ')') : status;
}

/* Parses up to three integers: .reqntid 16, 16, 1. Those that are missing become 1. */
static rung_status parse_extent(ptx_parser_t *parser, uint32_t extent[3])
{
    extent[0] = extent[1] = extent[2] = 1;
    for (int i = 0; i < 3; i++) {
        int64_t value = 0;
        TRY(rungi_ptx_parser_expect_integer(parser, &value));
        extent[i] = (uint32_t)value;
        if (!rungi_ptx_parser_accept(parser, ','))
            break;
    }
    return RUNG_OK;
}

/* Parses performance directives between the parameters and the body. */
static rung_status parse_function_directives(ptx_parser_t *parser, ptx_function_t *function)
{
    static const char *const with_integer[] = {".maxnreg",        ".minnctapersm", ".maxnctapersm",
                                               ".maxclusterrank", ".abi_preserve", ".abi_preserve_control"};
    static const char *const without[] = {".noreturn", ".explicitcluster", ".blocksareclusters"};
    for (;;) {
        bool is_known = false;
        int64_t value;
        if (rungi_ptx_parser_accept_dot(parser, ".reqntid")) {
            TRY(parse_extent(parser, function->required_block));
            continue;
        }
        if (rungi_ptx_parser_accept_dot(parser, ".maxntid")) {
            TRY(parse_extent(parser, function->max_block));
            continue;
        }
        if (rungi_ptx_parser_accept_dot(parser, ".reqnctapercluster")) {
            TRY(parse_extent(parser, function->required_cluster));
            continue;
        }
        if (rungi_ptx_parser_accept_dot(parser, ".pragma")) {
            skip_to_semicolon(parser);
            continue;
        }
        for (size_t i = 0; i < sizeof with_integer / sizeof *with_integer && !is_known; i++)
            if (rungi_ptx_parser_accept_dot(parser, with_integer[i])) {
                TRY(rungi_ptx_parser_expect_integer(parser, &value));
                is_known = true;
            }
        for (size_t i = 0; i < sizeof without / sizeof *without && !is_known; i++)
            is_known = rungi_ptx_parser_accept_dot(parser, without[i]);
        if (!is_known)
            return RUNG_OK;
    }
}

/* Finds a declared function or adds one. */
static rung_status find_or_add_function(ptx_parser_t *parser, rungi_string_view name, int32_t *index)
{
    const ptx_symbol_t *found = rungi_ptx_symbols_find(&parser->symbols, name);
    if (found && found->kind == PTX_SYMBOL_FUNCTION) {
        *index = (int32_t)found->value;
        return RUNG_OK;
    }
    ptx_function_t *function = rungi_ptx_vector_append(&parser->functions, sizeof *function, 1);
    *index = parser->functions.count - 1;
    ptx_symbol_t symbol = {.name = name, .kind = PTX_SYMBOL_FUNCTION, .value = *index};
    if (!function || !rungi_ptx_symbols_add(&parser->symbols, &symbol))
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a PTX module");
    function->name = copy_name(name);
    return function->name ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

/* Adds the parameters of the function to its scope. Those of functions live in the frame. */
static rung_status add_parameter_symbols(ptx_parser_t *parser, ptx_function_t *function, ptx_parameter_t *parameters,
                                         int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        ptx_parameter_t *parameter = &parameters[i];
        ptx_symbol_t symbol = {.kind = PTX_SYMBOL_PARAMETER,
                               .space = PTX_SPACE_PARAM,
                               .value = parameter->offset,
                               .bytes = parameter->bytes};
        symbol.name = rungi_string_view_of(parameter->name, strlen(parameter->name));
        if (!function->is_kernel) {
            symbol.space = PTX_SPACE_FUNCTION_PARAM;
            symbol.bytes = (parameter->bytes + 15) & -16;
            symbol.value = parameter->offset = function->frame_bytes;
            parameter->bytes = symbol.bytes;
            function->frame_bytes += (PTX_WARP_LANES * symbol.bytes + 63) & -64;
        }
        if (!rungi_ptx_symbols_add(&parser->symbols, &symbol))
            return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for symbols");
    }
    return RUNG_OK;
}

static rung_status parse_function_body(ptx_parser_t *parser, int32_t index)
{
    ptx_function_t *function = (ptx_function_t *)parser->functions.data + index;
    if (function->is_defined)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID, "%s is defined twice",
                                     function->name);
    function->is_defined = true;
    function->first = parser->instructions.count;
    function->frame_bytes = PTX_LANE_ARRAY_ALIGNMENT; /* operand 0 is reserved */
    parser->function = function;
    parser->function_index = index;
    parser->location = -1;
    parser->predicate_slot = parser->predicate_slots_end = 0;
    if (!rungi_ptx_symbols_open(&parser->symbols))
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID, "scopes nest too deeply");
    TRY(add_parameter_symbols(parser, function, function->parameters, function->parameter_count));
    TRY(add_parameter_symbols(parser, function, function->results, function->result_count));
    TRY(rungi_ptx_parse_body(parser));
    rungi_ptx_symbols_close(&parser->symbols);
    function->end = parser->instructions.count;
    parser->function = NULL;
    return RUNG_OK;
}

/* Parses .entry and .func: a declaration or a definition. */
static rung_status parse_function(ptx_parser_t *parser, bool is_kernel)
{
    ptx_parameter_t *results = NULL, *parameters = NULL;
    int32_t result_count = 0, parameter_count = 0, index;
    int64_t result_bytes = 0, parameter_bytes = 0;
    rungi_string_view name = {"", 0};
    rung_status status = RUNG_OK;
    rungi_ptx_parser_accept_dot(parser, ".attribute");
    if (!is_kernel && rungi_ptx_parser_accept(parser, '('))
        status = parse_parameters(parser, &results, &result_count, &result_bytes);
    if (status == RUNG_OK)
        status = rungi_ptx_parser_expect_name(parser, &name);
    if (status == RUNG_OK && rungi_ptx_parser_accept(parser, '('))
        status = parse_parameters(parser, &parameters, &parameter_count, &parameter_bytes);
    if (status == RUNG_OK)
        status = find_or_add_function(parser, name, &index);
    if (status != RUNG_OK) {
        free_parameters(results, result_count);
        free_parameters(parameters, parameter_count);
        return status;
    }
    ptx_function_t *function = (ptx_function_t *)parser->functions.data + index;
    if (!function->is_defined) {
        free_parameters(function->parameters, function->parameter_count);
        free_parameters(function->results, function->result_count);
        function->is_kernel = is_kernel;
        function->parameters = parameters;
        function->parameter_count = parameter_count;
        function->parameter_bytes = parameter_bytes;
        function->results = results;
        function->result_count = result_count;
    } else {
        free_parameters(results, result_count);
        free_parameters(parameters, parameter_count);
    }
    TRY(parse_function_directives(parser, function));
    if (rungi_ptx_parser_accept(parser, ';'))
        return RUNG_OK;
    return parse_function_body(parser, index);
}

/* ---- Modules ------------------------------------------------------------------------------------------------------- */

static rung_status parse_version(ptx_parser_t *parser)
{
    const ptx_token_t *token = &parser->lexer.token;
    double version = 0;
    if (token->kind != PTX_TOKEN_F64)
        return fail_expected(parser, "a version such as 8.3");
    memcpy(&version, &token->integer, sizeof version);
    parser->module->version = (int)(version * 10 + 0.5);
    if (parser->module->version < 60 || parser->module->version > 99)
        return rungi_ptx_parser_fail(parser, token->line, RUNG_STATUS_UNSUPPORTED,
                                     "PTX version %.1f is not supported; versions 6.0 to 9.9 are", version);
    rungi_ptx_lexer_next(&parser->lexer);
    return RUNG_OK;
}

static rung_status parse_target(ptx_parser_t *parser)
{
    rungi_string_view name = {"", 0};
    do {
        TRY(rungi_ptx_parser_expect_name(parser, &name));
        if (name.length > 3 && memcmp(name.text, "sm_", 3) == 0)
            parser->module->target = (int)strtol(name.text + 3, NULL, 10);
    } while (rungi_ptx_parser_accept(parser, ','));
    return RUNG_OK;
}

static rung_status parse_address_size(ptx_parser_t *parser)
{
    int64_t bits;
    TRY(rungi_ptx_parser_expect_integer(parser, &bits));
    return bits == 64 ? RUNG_OK
                      : rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_UNSUPPORTED,
                                              "the address size is %lld; only 64 is supported", (long long)bits);
}

/* .file 1 "name", timestamp, size */
static rung_status parse_file(ptx_parser_t *parser)
{
    int64_t index, value;
    TRY(rungi_ptx_parser_expect_integer(parser, &index));
    if (parser->lexer.token.kind != PTX_TOKEN_STRING)
        return fail_expected(parser, "a file name");
    if (index < 0 || index > 65535)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                     "file number %lld is out of range (0 to 65535)", (long long)index);
    if (index >= parser->files.count &&
        !rungi_ptx_vector_append(&parser->files, sizeof(char *), (int32_t)index + 1 - parser->files.count))
        return RUNG_STATUS_NO_MEMORY;
    char **file = (char **)parser->files.data + index;
    free(*file);
    *file = copy_name(parser->lexer.token.text);
    if (!*file)
        return RUNG_STATUS_NO_MEMORY;
    rungi_ptx_lexer_next(&parser->lexer);
    while (rungi_ptx_parser_accept(parser, ','))
        TRY(rungi_ptx_parser_expect_integer(parser, &value));
    return RUNG_OK;
}

static rung_status parse_directive(ptx_parser_t *parser, bool *is_known)
{
    bool is_extern = false;
    *is_known = true;
    for (;;) { /* linking directives */
        if (rungi_ptx_parser_accept_dot(parser, ".extern"))
            is_extern = true;
        else if (!rungi_ptx_parser_accept_dot(parser, ".visible") && !rungi_ptx_parser_accept_dot(parser, ".weak") &&
                 !rungi_ptx_parser_accept_dot(parser, ".common"))
            break;
    }
    if (rungi_ptx_parser_accept_dot(parser, ".version"))
        return parse_version(parser);
    if (rungi_ptx_parser_accept_dot(parser, ".target"))
        return parse_target(parser);
    if (rungi_ptx_parser_accept_dot(parser, ".address_size"))
        return parse_address_size(parser);
    if (rungi_ptx_parser_accept_dot(parser, ".file"))
        return parse_file(parser);
    if (rungi_ptx_parser_accept_dot(parser, ".entry"))
        return parse_function(parser, true);
    if (rungi_ptx_parser_accept_dot(parser, ".func"))
        return parse_function(parser, false);
    if (rungi_ptx_parser_accept_dot(parser, ".global"))
        return rungi_ptx_parse_variables(parser, PTX_SPACE_GLOBAL, is_extern);
    if (rungi_ptx_parser_accept_dot(parser, ".const"))
        return rungi_ptx_parse_variables(parser, PTX_SPACE_CONST, is_extern);
    if (rungi_ptx_parser_accept_dot(parser, ".shared"))
        return rungi_ptx_parse_variables(parser, PTX_SPACE_SHARED, is_extern);
    if (rungi_ptx_parser_accept_dot(parser, ".section")) {
        rungi_ptx_lexer_next(&parser->lexer); /* its name */
        return skip_braces(parser);
    }
    *is_known = rungi_ptx_parser_accept_dot(parser, ".pragma") || rungi_ptx_parser_accept_dot(parser, ".alias");
    if (*is_known)
        skip_to_semicolon(parser);
    return RUNG_OK;
}

/* Copies the constants to aligned memory, and points instructions to their lists. */
static rung_status complete_pointers(ptx_parser_t *parser)
{
    size_t bytes = ((size_t)parser->constants.count + 63) / 64 * 64;
    unsigned char *constants = aligned_alloc(PTX_LANE_ARRAY_ALIGNMENT, bytes);
    ptx_instruction_t *instructions = parser->instructions.data;
    if (!constants)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a PTX module");
    memcpy(constants, parser->constants.data, (size_t)parser->constants.count);
    free(parser->constants.data);
    parser->constants.data = constants;
    for (int32_t i = 0; i < parser->instructions.count; i++)
        if (instructions[i].list_length > 0)
            instructions[i].list = (const ptx_operand_t *)parser->lists.data + instructions[i].list_first;
    return RUNG_OK;
}

/* Moves what the parser has collected into the module. Also done after a failure, so that one function frees it. */
static void move_to_module(ptx_parser_t *parser, ptx_module_t *module)
{
    module->instructions = parser->instructions.data;
    module->instruction_count = parser->instructions.count;
    module->functions = parser->functions.data;
    module->function_count = parser->functions.count;
    module->locations = parser->locations.data;
    module->location_count = parser->locations.count;
    module->files = parser->files.data;
    module->file_count = parser->files.count;
    module->variables = parser->variables.data;
    module->variable_count = parser->variables.count;
    module->constants = parser->constants.data;
    module->constant_bytes = parser->constants.count;
    module->lists = parser->lists.data;
    module->list_count = parser->lists.count;
}

static rung_status parse_module(ptx_parser_t *parser)
{
    if (!rungi_ptx_symbols_open(&parser->symbols) || !rungi_ptx_vector_append(&parser->constants, 1, 64))
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a PTX module");
    while (parser->lexer.token.kind != PTX_TOKEN_END) {
        bool is_known;
        TRY(parse_directive(parser, &is_known));
        if (!is_known)
            return fail_expected(parser, "a directive of a module");
    }
    if (parser->module->version == 0)
        return rungi_ptx_parser_fail(parser, 1, RUNG_STATUS_INVALID,
                                     "the text has no .version directive; it is not PTX");
    TRY(rungi_ptx_find_reconvergence(parser));
    TRY(rungi_ptx_layout_shared(parser));
    TRY(complete_pointers(parser));
    move_to_module(parser, parser->module);
    TRY(rungi_ptx_merge_accesses(parser->module)); /* before registers share places */
    return rungi_ptx_allocate_places(parser);
}

static void free_parser(ptx_parser_t *parser)
{
    for (int32_t i = 0; i < parser->targets.count; i++)
        free(((ptx_targets_t *)parser->targets.data)[i].names);
    free(parser->targets.data);
    free(parser->fixups.data);
    free(parser->shared_variables.data);
    free(parser->shared_references.data);
    free(parser->calls.data);
    free(parser->constant_index.data);
    free(parser->mentions.data);
    rungi_ptx_symbols_end(&parser->symbols);
    free(parser);
}

rung_status rungi_ptx_parse(const char *name, const char *text, size_t bytes, const ptx_environment_t *environment,
                            ptx_module_t **module)
{
    ptx_parser_t *parser = calloc(1, sizeof *parser);
    ptx_module_t *parsed = calloc(1, sizeof *parsed);
    *module = NULL;
    if (parsed) {
        parsed->name = copy_name(rungi_string_view_of(name, strlen(name)));
        parsed->text = copy_name(rungi_string_view_of(text, bytes));
        parsed->text_bytes = bytes;
    }
    if (!parser || !parsed || !parsed->name || !parsed->text) {
        free(parser);
        rungi_ptx_module_destroy(parsed);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a PTX module of %zu bytes", bytes);
    }
    parser->module = parsed;
    parser->environment = environment;
    rungi_ptx_symbols_begin(&parser->symbols);
    rungi_ptx_lexer_begin(&parser->lexer, parsed->text, bytes);
    rung_status status = parse_module(parser);
    move_to_module(parser, parsed);
    free_parser(parser);
    if (status == RUNG_OK)
        *module = parsed;
    else
        rungi_ptx_module_destroy(parsed);
    return status;
}
