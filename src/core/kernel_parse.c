/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_parse.c - reads the parameters, constraints and other properties that a kernel file declares.
 *
 * The file is the only place that declares them, in plain preprocessor lines; "Kernels" in rung.h is the manual. So the
 * host has no second list to maintain. Lines count only outside comments and outside conditionals, except for the two
 * patterns with an #if of their own:
 *
 *     #ifndef NAME / #define NAME number // choices / #endif      a parameter
 *     #if expression / #error "reason" / #endif                   a constraint
 *     #define NAME expression                                     a macro
 *     #include "name"                                             a header of the library
 *     // preset NAME: NAME=number,...                             a preset
 *     // takes: TYPES,... [from sm_80]                            the types that the kernel multiplies
 *     // computes: MODE,...                                       the compute modes, if not only strict
 *     KERNEL(expression) name(                                    the function
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/try.h"
#include "core/enum_counts.h"
#include "core/kernel.h"

typedef struct kernel_line {
    rungi_string_view whole;
    int64_t number;
    rungi_string_view word;    /* of a directive, such as "define"; empty for other lines */
    rungi_string_view rest;    /* after the word, without comments */
    rungi_string_view comment; /* at the end of the line, without its delimiters */
} kernel_line_t;

typedef struct kernel_scan {
    const char *at;
    int64_t line_count;
    bool is_in_comment;
    int open_conditionals;
} kernel_scan_t;

typedef struct kernel_parser {
    rung_kernel *kernel;
    kernel_scan_t scan;
    char *strings;    /* unused part of kernel->strings */
    int64_t *choices; /* unused part of kernel->choices */
} kernel_parser_t;

/* ---- String views ---------------------------------------------------------------------- */

static rungi_string_view trim(rungi_string_view view)
{
    while (view.length > 0 && isspace((unsigned char)view.text[0]))
        view.text++, view.length--;
    while (view.length > 0 && isspace((unsigned char)view.text[view.length - 1]))
        view.length--;
    return view;
}

/* Splits the leading name off `rest`; empty if there is none. */
static rungi_string_view split_name(rungi_string_view *rest)
{
    rungi_string_view name = {rest->text, 0};
    if (rest->length > 0 && !isdigit((unsigned char)rest->text[0]))
        while (name.length < rest->length && rungi_is_name_character(rest->text[name.length]))
            name.length++;
    rest->text += name.length;
    rest->length -= name.length;
    return name;
}

/* ---- Lines ----------------------------------------------------------------------------- */

/* Moves past one line, tracks comments and strings, and returns where the line's code ends and the comment after the
 * code. */
static void scan_line(kernel_scan_t *scan, const char **code_end, rungi_string_view *comment)
{
    const char *at = scan->at;
    char quote = '\0';
    *code_end = NULL;
    *comment = rungi_string_view_of(at, 0);
    for (; *at && *at != '\n'; at++) {
        if (scan->is_in_comment) {
            if (at[0] == '*' && at[1] == '/') {
                comment->length = (size_t)(at - comment->text);
                scan->is_in_comment = false;
                at++;
            }
        } else if (quote) {
            if (*at == '\\' && at[1] && at[1] != '\n')
                at++;
            else if (*at == quote)
                quote = '\0';
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (at[0] == '/' && (at[1] == '*' || at[1] == '/')) {
            if (!*code_end)
                *code_end = at;
            *comment = rungi_string_view_of(at + 2, 0);
            scan->is_in_comment = at[1] == '*';
            if (!scan->is_in_comment) {
                comment->length = strcspn(comment->text, "\n");
                at = comment->text + comment->length;
                break;
            }
            at++;
        }
    }
    if (!*code_end)
        *code_end = at;
    scan->at = *at ? at + 1 : at;
}

/* Reads the next line. Returns false at the end of the text. */
static bool next_line(kernel_scan_t *scan, kernel_line_t *line)
{
    const char *start = scan->at, *code_end;
    bool began_in_comment = scan->is_in_comment;
    if (!*start)
        return false;
    scan_line(scan, &code_end, &line->comment);
    line->whole = rungi_string_view_of(start, strcspn(start, "\n"));
    line->number = ++scan->line_count;
    line->comment = trim(line->comment);
    line->rest = rungi_string_view_of(start, began_in_comment ? 0 : (size_t)(code_end - start));
    line->rest = trim(line->rest);
    line->word = rungi_string_view_of(start, 0);
    if (line->rest.length > 0 && line->rest.text[0] == '#') {
        line->rest = trim(rungi_string_view_of(line->rest.text + 1, line->rest.length - 1));
        line->word = split_name(&line->rest);
        line->rest = trim(line->rest);
    }
    return true;
}

/* ---- Declarations -------------------------------------------------------------------------- */

/* Copies a view to the kernel's strings, which have room for two copies of the text. */
static const char *store_string(kernel_parser_t *parser, rungi_string_view view)
{
    char *stored = parser->strings;
    memcpy(stored, view.text, view.length);
    stored[view.length] = '\0';
    parser->strings += view.length + 1;
    return stored;
}

/* Parses a comment such as "8 16 32". Returns 0 if the comment has anything except numbers. */
static int64_t parse_choices(rungi_string_view comment, int64_t *choices)
{
    int64_t count = 0;
    const char *at = comment.text, *end = comment.text + comment.length;
    while (at < end) {
        if (*at == ' ' || *at == ',') {
            at++;
            continue;
        }
        if (!isdigit((unsigned char)*at))
            return 0;
        choices[count++] = strtoll(at, NULL, 10);
        while (at < end && isdigit((unsigned char)*at))
            at++;
    }
    return count;
}

static bool is_number(rungi_string_view view)
{
    for (size_t i = 0; i < view.length; i++)
        if (!isdigit((unsigned char)view.text[i]))
            return false;
    return view.length > 0 && view.length < 10;
}

/* Returns whether the next two lines are a directive `word`, which is stored in `line`, and #endif. */
static bool read_ahead(kernel_scan_t *ahead, const char *word, kernel_line_t *line)
{
    kernel_line_t end;
    return next_line(ahead, line) && next_line(ahead, &end) && rungi_string_view_equals(line->word, word) &&
           rungi_string_view_equals(end.word, "endif");
}

static bool has_parameter(const rung_kernel *kernel, rungi_string_view name)
{
    for (int64_t i = 0; i < kernel->info.parameter_count; i++)
        if (rungi_string_view_equals(name, kernel->parameters[i].name))
            return true;
    return false;
}

/* Reads a parameter: `#ifndef NAME` and the two lines after it. Other lines are not an error. */
static rung_status parse_parameter(kernel_parser_t *parser, rungi_string_view name)
{
    rung_kernel *kernel = parser->kernel;
    kernel_scan_t ahead = parser->scan;
    kernel_line_t define;
    if (!read_ahead(&ahead, "define", &define))
        return RUNG_OK;
    rungi_string_view rest = define.rest;
    if (!rungi_string_views_equal(split_name(&rest), name) || !is_number(trim(rest)))
        return RUNG_OK;
    if (name.length > RUNGI_PARAMETER_NAME_MAX)
        return rungi_invalid("%s: the parameter name %.*s has %zu characters; the maximum is %d", kernel->info.file,
                             (int)name.length, name.text, name.length, RUNGI_PARAMETER_NAME_MAX);
    if (has_parameter(kernel, name))
        return rungi_invalid("%s declares the parameter %.*s twice; remove one of them", kernel->info.file,
                             (int)name.length, name.text);
    if (kernel->info.parameter_count == RUNGI_PARAMETERS_MAX)
        return rungi_invalid("%s has more than %d parameters", kernel->info.file, RUNGI_PARAMETERS_MAX);
    rung_parameter *parameter = &kernel->parameters[kernel->info.parameter_count++];
    parameter->name = store_string(parser, name);
    parameter->value = strtoll(trim(rest).text, NULL, 10);
    parameter->choices = parser->choices;
    parameter->choice_count = parse_choices(define.comment, parser->choices);
    parser->choices += parameter->choice_count;
    parser->scan = ahead;
    parser->scan.open_conditionals--;
    return RUNG_OK;
}

/* Reads a constraint: `#if expression` and the two lines after it. */
static void parse_constraint(kernel_parser_t *parser, rungi_string_view condition)
{
    kernel_scan_t ahead = parser->scan;
    kernel_line_t error;
    if (!read_ahead(&ahead, "error", &error))
        return;
    rungi_string_view reason = error.rest;
    if (reason.length >= 2 && reason.text[0] == '"' && reason.text[reason.length - 1] == '"')
        reason = rungi_string_view_of(reason.text + 1, reason.length - 2);
    parser->kernel->constraints[parser->kernel->info.constraint_count++] = (rung_constraint){
        .rejected_if = store_string(parser, condition), .reason = store_string(parser, reason)};
    parser->scan = ahead;
    parser->scan.open_conditionals--;
}

static rung_status parse_include(rung_kernel *kernel, const kernel_line_t *line)
{
    rungi_string_view name = line->rest;
    if (name.length < 3 || name.text[0] != '"' || name.text[name.length - 1] != '"')
        return RUNG_OK;
    if (kernel->include_count == RUNGI_INCLUDES_MAX)
        return rungi_invalid("%s includes more than %d headers", kernel->info.file, RUNGI_INCLUDES_MAX);
    kernel->includes[kernel->include_count++] = (rungi_kernel_include){
        .name = rungi_string_view_of(name.text + 1, name.length - 2),
        .line = line->whole,
        .number = line->number,
    };
    return RUNG_OK;
}

static rung_status parse_directive(kernel_parser_t *parser, const kernel_line_t *line)
{
    kernel_scan_t *scan = &parser->scan;
    rung_kernel *kernel = parser->kernel;
    rungi_string_view word = line->word, rest = line->rest;
    bool is_unconditional = scan->open_conditionals == 0;
    if (rungi_string_view_equals(word, "endif")) {
        scan->open_conditionals--;
    } else if (rungi_string_view_equals(word, "ifndef")) {
        scan->open_conditionals++;
        return is_unconditional ? parse_parameter(parser, rest) : RUNG_OK;
    } else if (rungi_string_view_equals(word, "if") || rungi_string_view_equals(word, "ifdef")) {
        scan->open_conditionals++;
        if (is_unconditional && rungi_string_view_equals(word, "if"))
            parse_constraint(parser, rest);
    } else if (is_unconditional && rungi_string_view_equals(word, "include")) {
        return parse_include(kernel, line);
    } else if (is_unconditional && rungi_string_view_equals(word, "define")) {
        rungi_string_view name = split_name(&rest);
        if (name.length > 0 && (rest.length == 0 || rest.text[0] != '('))
            kernel->macros[kernel->macro_count++] = (rungi_kernel_macro){name, trim(rest)};
    }
    return RUNG_OK;
}

/* Splits " from sm_80" off the end of a list. Returns 80, 0 without " from", or -1 for an invalid architecture.
 * "sm_90a" has instructions that exist on sm_90 only, and sets *is_specific. */
static int split_architecture(rungi_string_view *list, bool *is_specific)
{
    static const char words[] = " from sm_";
    for (size_t i = 0; i + strlen(words) <= list->length; i++) {
        if (memcmp(list->text + i, words, strlen(words)) != 0)
            continue;
        rungi_string_view number = {list->text + i + strlen(words), list->length - i - strlen(words)};
        list->length = i;
        *is_specific = number.length > 1 && number.text[number.length - 1] == 'a';
        number.length -= *is_specific;
        return is_number(number) ? (int)strtol(number.text, NULL, 10) : -1;
    }
    return 0;
}

/* Parses "takes: f32,f16:f32", "takes: bf16 from sm_80" or "takes: f16 from sm_90a". Several lines add up. */
static rung_status parse_takes(rung_kernel *kernel, rungi_string_view list)
{
    bool is_specific = false;
    int architecture = split_architecture(&list, &is_specific);
    if (architecture < 0)
        return rungi_invalid(
            "%s: invalid architecture after \"takes:\"; write, for example, \"takes: bf16 from sm_80\"",
            kernel->info.file);
    if (list.length == 0)
        return rungi_invalid("%s: the list after \"takes:\" is empty; write, for example, \"takes: f32,f16:f32\"",
                             kernel->info.file);
    if (is_specific)
        kernel->info.only_sm = architecture;
    while (list.length > 0) {
        rungi_string_view word = trim(rungi_string_view_split(&list, ','));
        rungi_gemm_types_set set = rungi_gemm_types_find_set(word);
        if (set == 0) {
            char valid[RUNGI_GEMM_TYPES_TEXT_BYTES];
            rungi_gemm_types_format(RUNGI_GEMM_TYPES_ALL, valid, sizeof valid);
            return rungi_invalid("%s: unknown types \"%.*s\" after \"takes:\"; valid (input:output): %s",
                                 kernel->info.file, (int)word.length, word.text, valid);
        }
        kernel->types |= set;
        for (int types = 0; types < RUNGI_GEMM_TYPES_COUNT; types++)
            if (set & RUNGI_GEMM_TYPES_BIT(types))
                kernel->min_sm[types] = architecture;
    }
    return RUNG_OK;
}

/* Parses "computes: tf32" or "computes: tf32,tf32x3". info.compute becomes the least precise mode. */
static rung_status parse_computes(rung_kernel *kernel, rungi_string_view list)
{
    kernel->computes = 0;
    kernel->info.compute = RUNG_COMPUTE_STRICT;
    do {
        rungi_string_view word = trim(rungi_string_view_split(&list, ','));
        int compute = rungi_compute_find(word);
        if (compute == RUNGI_COMPUTE_COUNT)
            return rungi_invalid(
                "%s: unknown compute mode \"%.*s\" after \"computes:\"; valid: strict, bf16x3, tf32x3, "
                "tf32, bf16x1, q8",
                kernel->info.file, (int)word.length, word.text);
        kernel->computes |= 1u << compute;
        if (rungi_compute_is_as_precise(kernel->info.compute, (rung_compute)compute))
            kernel->info.compute = (rung_compute)compute;
    } while (list.length > 0);
    return RUNG_OK;
}

/* Parses a line that is only a comment: "takes: LIST", "computes: LIST", "short: rows" or "preset NAME: PARAMETERS". Most
 * comments declare nothing. */
static rung_status parse_comment(kernel_parser_t *parser, rungi_string_view comment)
{
    rung_kernel *kernel = parser->kernel;
    rungi_string_view rest = comment, word = split_name(&rest), name = {NULL, 0};
    if (rungi_string_view_equals(word, "preset")) {
        rest = trim(rest);
        name = split_name(&rest);
    }
    if (rest.length == 0 || rest.text[0] != ':')
        return RUNG_OK;
    rungi_string_view value = trim(rungi_string_view_of(rest.text + 1, rest.length - 1));
    if (rungi_string_view_equals(word, "takes"))
        return parse_takes(kernel, value);
    if (rungi_string_view_equals(word, "computes"))
        return parse_computes(kernel, value);
    if (rungi_string_view_equals(word, "short") && rungi_string_view_equals(value, "rows"))
        kernel->has_short_rows = true;
    if (name.length > 0)
        kernel->presets[kernel->info.preset_count++] = (rung_preset){store_string(parser, name),
                                                                     store_string(parser, value)};
    return RUNG_OK;
}

/* ---- Entry function --------------------------------------------------------------------------- */

static const char *skip_white_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* Parses "(threads) name(" after the word KERNEL. */
static bool parse_entry(rung_kernel *kernel, const char *at)
{
    int depth = 0;
    at = skip_white_space(at);
    if (*at != '(')
        return false;
    const char *start = at + 1;
    do {
        depth += (*at == '(') - (*at == ')');
        at++;
    } while (*at && depth > 0);
    if (depth > 0)
        return false;
    rungi_string_view threads = rungi_string_view_of(start, (size_t)(at - 1 - start));
    at = skip_white_space(at);
    rungi_string_view rest = rungi_string_view_of(at, strlen(at)), name = split_name(&rest);
    if (name.length == 0 || *skip_white_space(rest.text) != '(')
        return false;
    kernel->threads = threads;
    kernel->entry = name;
    return true;
}

static bool find_entry(rung_kernel *kernel, rungi_string_view code)
{
    char quote = '\0';
    for (size_t i = 0; i + 6 <= code.length; i++) {
        if (quote || code.text[i] == '"' || code.text[i] == '\'') {
            if (!quote)
                quote = code.text[i];
            else if (code.text[i] == '\\')
                i++;
            else if (code.text[i] == quote)
                quote = '\0';
        } else if ((i == 0 || !rungi_is_name_character(code.text[i - 1])) && memcmp(code.text + i, "KERNEL", 6) == 0 &&
                   !rungi_is_name_character(code.text[i + 6])) {
            return parse_entry(kernel, code.text + i + 6);
        }
    }
    return false;
}

/* ---- File --------------------------------------------------------------------------------------- */

/* Returns the summary of the first comment of the form "NAME - summary" within the first lines; "" if there is none. */
static const char *parse_summary(kernel_parser_t *parser, const char *text)
{
    for (int i = 0; i < 8 && *text; i++) {
        rungi_string_view line = rungi_string_view_of(text, strcspn(text, "\n"));
        const char *dash = strstr(text, " - ");
        if (dash && dash < text + line.length && (line.text[0] == '/')) {
            rungi_string_view summary = rungi_string_view_of(dash + 3, (size_t)(text + line.length - dash - 3));
            summary = trim(summary);
            if (summary.length >= 2 && memcmp(summary.text + summary.length - 2, "*/", 2) == 0)
                summary.length -= 2;
            return store_string(parser, trim(summary));
        }
        text += line.length + (text[line.length] == '\n');
    }
    return "";
}

static rung_status allocate_tables(rung_kernel *kernel, const char *file, const char *text)
{
    size_t length = strlen(text), lines = 2;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    rung_context *context = kernel->context;
    kernel->text = rungi_allocate_zeroed(context, length + 1);
    kernel->strings = rungi_allocate_zeroed(context, 2 * length + strlen(file) + 8);
    kernel->parameters = rungi_allocate_zeroed(context, RUNGI_PARAMETERS_MAX * sizeof *kernel->parameters);
    kernel->constraints = rungi_allocate_zeroed(context, lines * sizeof *kernel->constraints);
    kernel->presets = rungi_allocate_zeroed(context, lines * sizeof *kernel->presets);
    kernel->macros = rungi_allocate_zeroed(context, lines * sizeof *kernel->macros);
    kernel->choices = rungi_allocate_zeroed(context, (length + 1) * sizeof *kernel->choices);
    if (!kernel->text || !kernel->strings || !kernel->parameters || !kernel->constraints || !kernel->presets ||
        !kernel->macros || !kernel->choices)
        return RUNG_STATUS_NO_MEMORY;
    memcpy(kernel->text, text, length + 1);
    return RUNG_OK;
}

rung_status rungi_kernel_parse(rung_kernel *kernel, const char *file, const char *text)
{
    TRY(allocate_tables(kernel, file, text));
    kernel_parser_t parser = {
        .kernel = kernel, .scan = {.at = kernel->text}, .strings = kernel->strings, .choices = kernel->choices};
    kernel->info.file = store_string(&parser, rungi_string_view_of(file, strlen(file)));
    kernel->info.source = kernel->text;
    kernel->info.summary = parse_summary(&parser, kernel->text);
    kernel->computes = 1u << RUNG_COMPUTE_STRICT;

    kernel_line_t line;
    bool has_entry = false;
    while (next_line(&parser.scan, &line)) {
        if (line.word.length > 0)
            TRY(parse_directive(&parser, &line));
        else if (line.rest.length == 0 && parser.scan.open_conditionals == 0)
            TRY(parse_comment(&parser, line.comment));
        else if (!has_entry && parser.scan.open_conditionals == 0)
            has_entry = find_entry(kernel, line.rest);
    }
    /* The tables of allocate_tables() suffice: each string, choice and line occurs at most twice in the text. */
    RUNGI_ASSERT(parser.strings <= kernel->strings + 2 * strlen(text) + strlen(file) + 8);
    RUNGI_ASSERT(parser.choices <= kernel->choices + strlen(text) + 1);
    RUNGI_ASSERT(kernel->macro_count <= parser.scan.line_count + 1 &&
                 kernel->info.constraint_count <= parser.scan.line_count + 1);
    return RUNG_OK;
}
