/* SPDX-License-Identifier: Apache-2.0 */
/* parse_signature.c - parses kernels and functions up to their bodies: parameters, results and directives. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/parse_declarations.h"

/* Parses one parameter of a function or a kernel. `offset` is the end of the parameters before it. */
static rung_status parse_parameter(ptx_parser_t *parser, ptx_vector_t *parameters, int64_t *offset)
{
    ptx_declaration_t declaration = {.space = PTX_SPACE_PARAM};
    if (!rungi_ptx_parser_accept_dot(parser, ".param") && !rungi_ptx_parser_accept_dot(parser, ".reg"))
        return rungi_ptx_parser_fail_expected(parser, "\".param\"");
    TRY(rungi_ptx_parse_declared_type(parser, &declaration));
    TRY(rungi_ptx_parse_declared_name(parser, &declaration));
    ptx_parameter_t *parameter = rungi_ptx_vector_append(parameters, sizeof *parameter, 1);
    if (!parameter)
        return RUNG_STATUS_NO_MEMORY;
    parameter->offset = (*offset + declaration.alignment - 1) & -declaration.alignment;
    parameter->bytes = declaration.bytes;
    parameter->alignment = declaration.alignment;
    parameter->name = rungi_ptx_copy_name(declaration.name);
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
            status = rungi_ptx_parser_fail_expected(parser, "\",\" or \")\"");
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
            rungi_ptx_parser_skip_directive(parser);
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
    function->name = rungi_ptx_copy_name(name);
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
            TRY(rungi_ptx_check_frame(parser, PTX_WARP_LANES, symbol.bytes));
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
    rungi_ptx_begin_locations(parser);
    parser->predicate_slot = parser->predicate_slots_end = 0;
    if (!rungi_ptx_symbols_open(&parser->symbols))
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID, "scopes nest too deeply");
    TRY(add_parameter_symbols(parser, function, function->parameters, function->parameter_count));
    TRY(add_parameter_symbols(parser, function, function->results, function->result_count));
    TRY(rungi_ptx_parse_body(parser));
    rungi_ptx_symbols_close(&parser->symbols);
    function->end = parser->instructions.count;
    rungi_ptx_resolve_locations(parser);
    parser->function = NULL;
    return RUNG_OK;
}

rung_status rungi_ptx_parse_function(ptx_parser_t *parser, bool is_kernel)
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
