/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_text.c - reads what a kernel file says of itself.
 *
 * The file is the one place where its parameters, constraints and tile stand, in
 * plain preprocessor lines (the manual is at "Kernels" in rung.h), so the host
 * has no second list to keep in step. Only lines outside comments and, but for
 * the two patterns with an #if of their own, outside conditionals count:
 *
 *     #ifndef NAME / #define NAME number // choices / #endif      a parameter
 *     #if expression / #error "reason" / #endif                   a constraint
 *     #define NAME expression                                     a macro
 *     #include "name"                                             a header of ours
 *     // preset NAME: NAME=number,...                             a preset
 *     // takes: PRODUCT,... [from sm_80]                           all it multiplies
 *     // computes: MODE                                           if not strictly
 *     KERNEL(expression) name(                                    the function
 */
#include "core/kernel.h"
#include "core/lists.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"

typedef struct line {
    rungi_slice whole;
    int64_t number;
    rungi_slice word; /* "define" of a directive, empty for other lines */
    rungi_slice rest; /* after the word, without comments */
    rungi_slice note; /* the comment at its end, without its marks */
} line_t;

/* What the scan of one file goes through. */
typedef struct scan {
    const char *at;
    int64_t lines; /* gone past */
    bool in_comment;
    int conditionals; /* open ones */
} scan_t;

/* ---- Slices -------------------------------------------------------------------------- */

static rungi_slice trimmed(rungi_slice slice)
{
    while (slice.length > 0 && isspace((unsigned char)slice.text[0]))
        slice.text++, slice.length--;
    while (slice.length > 0 && isspace((unsigned char)slice.text[slice.length - 1]))
        slice.length--;
    return slice;
}

static bool is(rungi_slice slice, const char *word)
{
    return slice.length == strlen(word) && memcmp(slice.text, word, slice.length) == 0;
}

static bool same(rungi_slice x, rungi_slice y)
{
    return x.length == y.length && memcmp(x.text, y.text, x.length) == 0;
}

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Cuts the leading name off `rest`; empty if there is none. */
static rungi_slice take_name(rungi_slice *rest)
{
    rungi_slice name = {rest->text, 0};
    if (rest->length > 0 && !isdigit((unsigned char)rest->text[0]))
        while (name.length < rest->length && is_name_character(rest->text[name.length]))
            name.length++;
    rest->text += name.length;
    rest->length -= name.length;
    return name;
}

/* ---- Lines ----------------------------------------------------------------------------- */

/* Moves past one line of text, keeping track of comments and strings, and finds
 * where its code ends and where a comment at its end begins and ends. */
static void measure_line(scan_t *scan, const char **code_end, rungi_slice *note)
{
    const char *at = scan->at;
    char quote = '\0';
    *code_end = NULL;
    *note = rungi_slice_of(at, 0);
    for (; *at && *at != '\n'; at++) {
        if (scan->in_comment) {
            if (at[0] == '*' && at[1] == '/') {
                note->length = (size_t)(at - note->text);
                scan->in_comment = false;
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
            *note = rungi_slice_of(at + 2, 0);
            scan->in_comment = at[1] == '*';
            if (!scan->in_comment) {
                note->length = strcspn(note->text, "\n");
                at = note->text + note->length;
                break;
            }
            at++;
        }
    }
    if (!*code_end)
        *code_end = at;
    scan->at = *at ? at + 1 : at;
}

/* The next line; false at the end of the text. */
static bool next_line(scan_t *scan, line_t *line)
{
    const char *start = scan->at, *code_end;
    bool began_in_comment = scan->in_comment;
    if (!*start)
        return false;
    measure_line(scan, &code_end, &line->note);
    line->whole = rungi_slice_of(start, strcspn(start, "\n"));
    line->number = ++scan->lines;
    line->note = trimmed(line->note);
    line->rest = rungi_slice_of(start, began_in_comment ? 0 : (size_t)(code_end - start));
    line->rest = trimmed(line->rest);
    line->word = rungi_slice_of(start, 0);
    if (line->rest.length > 0 && line->rest.text[0] == '#') {
        line->rest = trimmed(rungi_slice_of(line->rest.text + 1, line->rest.length - 1));
        line->word = take_name(&line->rest);
        line->rest = trimmed(line->rest);
    }
    return true;
}

/* ---- What is gathered ---------------------------------------------------------------------- */

/* Copies a slice to the kernel's strings. There is room: every string is cut out
 * of the text once. */
static const char *keep(rungi_slice slice, char **room)
{
    char *kept = *room;
    memcpy(kept, slice.text, slice.length);
    kept[slice.length] = '\0';
    *room += slice.length + 1;
    return kept;
}

/* Numbers of a comment like "8 16 32", if it has nothing but numbers. */
static int64_t read_choices(rungi_slice note, int64_t *choices)
{
    int64_t count = 0;
    const char *at = note.text, *end = note.text + note.length;
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

static bool is_number(rungi_slice slice)
{
    for (size_t i = 0; i < slice.length; i++)
        if (!isdigit((unsigned char)slice.text[i]))
            return false;
    return slice.length > 0 && slice.length < 10;
}

/* `#ifndef NAME`, when the next two lines make it a parameter. */
static rung_status read_parameter(rung_kernel *kernel, scan_t *scan, rungi_slice name, char **room, int64_t **choices)
{
    struct scan ahead = *scan;
    line_t define, end;
    if (!next_line(&ahead, &define) || !next_line(&ahead, &end) || !is(define.word, "define") || !is(end.word, "endif"))
        return RUNG_OK;
    rungi_slice rest = define.rest;
    if (!same(take_name(&rest), name) || !is_number(trimmed(rest)))
        return RUNG_OK;
    if (name.length > RUNGI_PARAMETER_NAME)
        return rungi_fail(RUNG_STATUS_INVALID, "%s: the name %.*s is longer than %d letters", kernel->info.file,
                          (int)name.length, name.text, RUNGI_PARAMETER_NAME);
    if (kernel->info.parameter_count == RUNGI_PARAMETERS_MAX)
        return rungi_fail(RUNG_STATUS_INVALID, "%s has more than %d parameters", kernel->info.file,
                          RUNGI_PARAMETERS_MAX);
    rung_parameter *parameter = &kernel->parameters[kernel->info.parameter_count++];
    parameter->name = keep(name, room);
    parameter->value = strtoll(trimmed(rest).text, NULL, 10);
    parameter->choices = *choices;
    parameter->choice_count = read_choices(define.note, *choices);
    *choices += parameter->choice_count;
    *scan = ahead;
    scan->conditionals--;
    return RUNG_OK;
}

/* `#if expression`, when the next two lines make it a constraint. */
static void read_constraint(rung_kernel *kernel, scan_t *scan, rungi_slice condition, char **room)
{
    struct scan ahead = *scan;
    line_t error, end;
    if (!next_line(&ahead, &error) || !next_line(&ahead, &end) || !is(error.word, "error") || !is(end.word, "endif"))
        return;
    rungi_slice reason = error.rest;
    if (reason.length >= 2 && reason.text[0] == '"' && reason.text[reason.length - 1] == '"')
        reason = rungi_slice_of(reason.text + 1, reason.length - 2);
    rung_constraint *constraint = &kernel->constraints[kernel->info.constraint_count++];
    constraint->rejected_if = keep(condition, room);
    constraint->reason = keep(reason, room);
    *scan = ahead;
    scan->conditionals--;
}

static rung_status read_include(rung_kernel *kernel, const line_t *line)
{
    rungi_slice name = line->rest;
    if (name.length < 3 || name.text[0] != '"' || name.text[name.length - 1] != '"')
        return RUNG_OK;
    if (kernel->include_count == RUNGI_INCLUDES_MAX)
        return rungi_fail(RUNG_STATUS_INVALID, "%s includes more than %d headers", kernel->info.file,
                          RUNGI_INCLUDES_MAX);
    kernel->includes[kernel->include_count++] = (rungi_include){
        .name = rungi_slice_of(name.text + 1, name.length - 2),
        .line = line->whole,
        .number = line->number,
    };
    return RUNG_OK;
}

static rung_status read_directive(rung_kernel *kernel, scan_t *scan, const line_t *line, char **room, int64_t **choices)
{
    rungi_slice rest = line->rest;
    if (is(line->word, "endif")) {
        scan->conditionals--;
    } else if (is(line->word, "if") || is(line->word, "ifdef") || is(line->word, "ifndef")) {
        bool outermost = scan->conditionals++ == 0;
        if (outermost && is(line->word, "ifndef"))
            return read_parameter(kernel, scan, line->rest, room, choices);
        if (outermost && is(line->word, "if"))
            read_constraint(kernel, scan, line->rest, room);
    } else if (is(line->word, "include") && scan->conditionals == 0) {
        return read_include(kernel, line);
    } else if (is(line->word, "define") && scan->conditionals == 0) {
        rungi_slice name = take_name(&rest);
        if (name.length > 0 && (rest.length == 0 || rest.text[0] != '('))
            kernel->macros[kernel->macro_count++] = (rungi_macro){name, trimmed(rest)};
    }
    return RUNG_OK;
}

/* A line that is a comment and says "preset NAME: PARAMETERS". */
static void read_preset(rung_kernel *kernel, rungi_slice note, char **room)
{
    rungi_slice rest = note;
    if (!is(take_name(&rest), "preset"))
        return;
    rest = trimmed(rest);
    rungi_slice name = take_name(&rest);
    if (name.length == 0 || rest.length == 0 || rest.text[0] != ':')
        return;
    rest = trimmed(rungi_slice_of(rest.text + 1, rest.length - 1));
    rung_preset *preset = &kernel->presets[kernel->info.preset_count++];
    preset->name = keep(name, room);
    preset->parameters = keep(rest, room);
}

/* Cuts " from sm_80" off a list and returns the number, 0 if there is none, -1 if what
 * stands there is no architecture. */
static int take_architecture(rungi_slice *list)
{
    static const char words[] = " from sm_";
    for (size_t i = 0; i + strlen(words) <= list->length; i++) {
        if (memcmp(list->text + i, words, strlen(words)) != 0)
            continue;
        rungi_slice number = {list->text + i + strlen(words), list->length - i - strlen(words)};
        list->length = i;
        return is_number(number) ? (int)strtol(number.text, NULL, 10) : -1;
    }
    return 0;
}

/* Cuts the first word off a list that is separated by commas. */
static rungi_slice take_word(rungi_slice *list)
{
    rungi_slice word = *list;
    const char *comma = memchr(list->text, ',', list->length);
    word.length = comma ? (size_t)(comma - list->text) : list->length;
    list->text += word.length + (comma != NULL);
    list->length -= word.length + (comma != NULL);
    return trimmed(word);
}

static rung_status fail_product(const rung_kernel *kernel, rungi_slice word)
{
    char known[256];
    rungi_product_words(RUNGI_PRODUCTS_ALL, known, sizeof known);
    return rungi_fail(RUNG_STATUS_INVALID, "%s takes \"%.*s\", which is not a product; use these (input:output): %s",
                      kernel->info.file, (int)word.length, word.text, known);
}

/* "takes: f32,f16:f32" or "takes: bf16 from sm_80"; such lines add up. */
static rung_status read_takes(rung_kernel *kernel, rungi_slice list)
{
    int architecture = take_architecture(&list);
    if (architecture < 0)
        return rungi_fail(RUNG_STATUS_INVALID, "%s: an architecture is written \"from sm_80\", behind what it takes",
                          kernel->info.file);
    if (list.length == 0)
        return rungi_fail(RUNG_STATUS_INVALID, "%s takes nothing; list the products behind \"takes:\"",
                          kernel->info.file);
    while (list.length > 0) {
        rungi_slice word = take_word(&list);
        int product = 0;
        while (product < RUNGI_PRODUCT_COUNT && !is(word, rungi_product_name((rungi_product)product)))
            product++;
        if (product == RUNGI_PRODUCT_COUNT)
            return fail_product(kernel, word);
        kernel->products |= 1u << product;
        kernel->min_sm[product] = architecture;
    }
    return RUNG_OK;
}

/* "computes: tf32" */
static rung_status read_computes(rung_kernel *kernel, rungi_slice word)
{
    for (int i = 0; i < RUNGI_COMPUTE_COUNT; i++)
        if (is(word, rung_compute_name((rung_compute)i))) {
            kernel->info.compute = (rung_compute)i;
            return RUNG_OK;
        }
    return rungi_fail(RUNG_STATUS_INVALID,
                      "%s computes \"%.*s\", which is not a compute mode (strict, bf16x3, tf32, bf16x1)",
                      kernel->info.file, (int)word.length, word.text);
}

/* A line that is a comment and may say something of the kernel. */
static rung_status read_note(rung_kernel *kernel, rungi_slice note, char **room)
{
    rungi_slice rest = note, word = take_name(&rest);
    if (rest.length > 0 && rest.text[0] == ':') {
        rungi_slice said = trimmed(rungi_slice_of(rest.text + 1, rest.length - 1));
        if (is(word, "takes"))
            return read_takes(kernel, said);
        if (is(word, "computes"))
            return read_computes(kernel, said);
    }
    read_preset(kernel, note, room);
    return RUNG_OK;
}

/* ---- The head of the kernel ------------------------------------------------------------------- */

/* Past blanks and line ends. */
static const char *past_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* KERNEL(threads) name( : `at` is behind the word KERNEL. */
static bool read_head(rung_kernel *kernel, const char *at)
{
    int depth = 0;
    at = past_blanks(at);
    if (*at != '(')
        return false;
    const char *start = at + 1;
    do {
        depth += (*at == '(') - (*at == ')');
        at++;
    } while (*at && depth > 0);
    if (depth > 0)
        return false;
    rungi_slice threads = rungi_slice_of(start, (size_t)(at - 1 - start));
    at = past_blanks(at);
    rungi_slice rest = rungi_slice_of(at, strlen(at)), name = take_name(&rest);
    if (name.length == 0 || *past_blanks(rest.text) != '(')
        return false;
    kernel->threads = threads;
    kernel->entry = name;
    return true;
}

static bool find_head(rung_kernel *kernel, rungi_slice code)
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
        } else if ((i == 0 || !is_name_character(code.text[i - 1])) && memcmp(code.text + i, "KERNEL", 6) == 0 &&
                   !is_name_character(code.text[i + 6])) {
            return read_head(kernel, code.text + i + 6);
        }
    }
    return false;
}

/* ---- The whole file ----------------------------------------------------------------------------- */

/* The first comment that reads "NAME - summary"; licence lines before it are
 * passed over. */
static const char *read_summary(const char *text, char **room)
{
    for (int i = 0; i < 8 && *text; i++) {
        rungi_slice line = rungi_slice_of(text, strcspn(text, "\n"));
        const char *dash = strstr(text, " - ");
        if (dash && dash < text + line.length && (line.text[0] == '/')) {
            rungi_slice summary = rungi_slice_of(dash + 3, (size_t)(text + line.length - dash - 3));
            summary = trimmed(summary);
            if (summary.length >= 2 && memcmp(summary.text + summary.length - 2, "*/", 2) == 0)
                summary.length -= 2;
            return keep(trimmed(summary), room);
        }
        text += line.length + (text[line.length] == '\n');
    }
    return "";
}

static rung_status make_room(rung_kernel *kernel, const char *file, const char *text)
{
    size_t length = strlen(text), lines = 2;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    rung_context *context = kernel->context;
    kernel->text = rungi_new(context, length + 1);
    kernel->strings = rungi_new(context, 2 * length + strlen(file) + 8);
    kernel->parameters = rungi_new(context, RUNGI_PARAMETERS_MAX * sizeof *kernel->parameters);
    kernel->constraints = rungi_new(context, lines * sizeof *kernel->constraints);
    kernel->presets = rungi_new(context, lines * sizeof *kernel->presets);
    kernel->macros = rungi_new(context, lines * sizeof *kernel->macros);
    kernel->choices = rungi_new(context, (length + 1) * sizeof *kernel->choices);
    if (!kernel->text || !kernel->strings || !kernel->parameters || !kernel->constraints || !kernel->presets ||
        !kernel->macros || !kernel->choices)
        return RUNG_STATUS_NO_MEMORY;
    memcpy(kernel->text, text, length + 1);
    return RUNG_OK;
}

rung_status rungi_kernel_read(rung_kernel *kernel, const char *file, const char *text)
{
    rung_status status = make_room(kernel, file, text);
    if (status != RUNG_OK)
        return status;
    char *room = kernel->strings;
    int64_t *choices = kernel->choices;
    kernel->info.file = keep(rungi_slice_of(file, strlen(file)), &room);
    kernel->info.source = kernel->text;
    kernel->info.summary = read_summary(kernel->text, &room);

    scan_t scan = {.at = kernel->text};
    line_t line;
    bool has_head = false;
    while (status == RUNG_OK && next_line(&scan, &line)) {
        if (line.word.length > 0)
            status = read_directive(kernel, &scan, &line, &room, &choices);
        else if (line.rest.length == 0 && scan.conditionals == 0)
            status = read_note(kernel, line.note, &room);
        else if (!has_head && scan.conditionals == 0)
            has_head = find_head(kernel, line.rest);
    }
    /* make_room() counted the text: every string, choice and line is cut out of it at most twice. */
    RUNGI_ASSERT(room <= kernel->strings + 2 * strlen(text) + strlen(file) + 8);
    RUNGI_ASSERT(choices <= kernel->choices + strlen(text) + 1);
    RUNGI_ASSERT(kernel->macro_count <= scan.lines + 1 && kernel->info.constraint_count <= scan.lines + 1);
    return status;
}
