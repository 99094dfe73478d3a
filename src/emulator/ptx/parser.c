/* SPDX-License-Identifier: Apache-2.0 */
/* parser.c - see parser.h. This file parses the directives of a module and completes the module. */
#include "emulator/ptx/parser.h"

#include <stdlib.h>
#include <string.h>

#include "base/aligned_memory.h"
#include "base/error.h"
#include "base/try.h"

static rung_status skip_braces(ptx_parser_t *parser)
{
    int depth = 0;
    while (parser->lexer.token.kind != PTX_TOKEN_END) {
        depth += rungi_ptx_parser_is(parser, '{') - rungi_ptx_parser_is(parser, '}');
        rungi_ptx_lexer_next(&parser->lexer);
        if (depth == 0)
            return RUNG_OK;
    }
    return rungi_ptx_parser_fail_expected(parser, "\"}\"");
}

static rung_status parse_version(ptx_parser_t *parser)
{
    const ptx_token_t *token = &parser->lexer.token;
    double version = 0;
    if (token->kind != PTX_TOKEN_F64)
        return rungi_ptx_parser_fail_expected(parser, "a version such as 8.3");
    memcpy(&version, &token->integer, sizeof version);
    parser->module->version = version > 0 && version < 100 ? (int)(version * 10 + 0.5) : 0;
    if (parser->module->version < 60 || parser->module->version > 99)
        return rungi_ptx_parser_fail(parser, token->line, RUNG_STATUS_UNSUPPORTED,
                                     "PTX version %.1f is not supported; versions 6.0 to 9.9 are", version);
    rungi_ptx_lexer_next(&parser->lexer);
    return RUNG_OK;
}

/* sm_120, or sm_120a and sm_120f for instructions that only some architectures have. */
static void set_target(ptx_module_t *module, rungi_string_view name)
{
    char last = name.text[name.length - 1];
    module->target = (int)strtol(name.text + 3, NULL, 10);
    module->target_suffix = (char)(last == 'a' || last == 'f' ? last : 0);
}

static rung_status parse_target(ptx_parser_t *parser)
{
    rungi_string_view name = {"", 0};
    do {
        TRY(rungi_ptx_parser_expect_name(parser, &name));
        if (name.length > 3 && memcmp(name.text, "sm_", 3) == 0)
            set_target(parser->module, name);
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
        return rungi_ptx_parser_fail_expected(parser, "a file name");
    if (index < 0 || index > 65535)
        return rungi_ptx_parser_fail(parser, parser->lexer.token.line, RUNG_STATUS_INVALID,
                                     "file number %lld is out of range (0 to 65535)", (long long)index);
    if (index >= parser->files.count &&
        !rungi_ptx_vector_append(&parser->files, sizeof(char *), (int32_t)index + 1 - parser->files.count))
        return RUNG_STATUS_NO_MEMORY;
    char **file = (char **)parser->files.data + index;
    free(*file);
    *file = rungi_ptx_copy_name(parser->lexer.token.text);
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
        return rungi_ptx_parse_function(parser, true);
    if (rungi_ptx_parser_accept_dot(parser, ".func"))
        return rungi_ptx_parse_function(parser, false);
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
        rungi_ptx_parser_skip_directive(parser);
    return RUNG_OK;
}

/* Copies the constants to aligned memory, and points instructions to their lists. */
static rung_status complete_pointers(ptx_parser_t *parser)
{
    size_t bytes = ((size_t)parser->constants.count + 63) / 64 * 64;
    unsigned char *constants = rungi_aligned_allocate(PTX_LANE_ARRAY_ALIGNMENT, bytes);
    ptx_instruction_t *instructions = parser->instructions.data;
    if (!constants)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a PTX module");
    memcpy(constants, parser->constants.data, (size_t)parser->constants.count);
    parser->aligned_constants = constants;
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
    module->constants = parser->aligned_constants;
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
            return rungi_ptx_parser_fail_expected(parser, "a directive of a module");
    }
    if (parser->module->version == 0)
        return rungi_ptx_parser_fail(parser, 1, RUNG_STATUS_INVALID,
                                     "the text has no .version directive; it is not PTX");
    TRY(rungi_ptx_find_reconvergence(parser));
    TRY(rungi_ptx_layout_shared(parser));
    rungi_ptx_find_block_order(parser); /* before registers share places */
    TRY(complete_pointers(parser));
    move_to_module(parser, parser->module);
    TRY(rungi_ptx_merge_accesses(parser->module)); /* before registers share places */
    TRY(rungi_ptx_find_origins(parser));
    TRY(rungi_ptx_find_undefined(parser));
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
    free(parser->constants.data);
    free(parser->constant_index.data);
    free(parser->mentions.data);
    free(parser->ambiguous_locations.data);
    free(parser->register_areas.data);
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
        parsed->name = rungi_ptx_copy_name(rungi_string_view_of(name, strlen(name)));
        parsed->text = rungi_ptx_copy_name(rungi_string_view_of(text, bytes));
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
