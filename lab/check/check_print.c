/* SPDX-License-Identifier: Apache-2.0 */
/* check_print.c - the result of rung check as text and as JSON. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "check/check_session.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "common/text.h"
#include "findings/kernel_name.h"
#include "io/input_file.h"

enum { LABEL_COLUMN = 12, SOURCES_MAX = 8 };

/* ---- Source lines ---- */

/* Texts of the files that findings name. */
typedef struct source_texts {
    lab_finding_source items[SOURCES_MAX];
    char *texts[SOURCES_MAX]; /* for free() */
    int count;
} source_texts_t;

/* Returns whether a file is in the folder of the checked file or below. A PTX file may name any file of the machine as its
 * source, and lines of other files must not be printed. */
static bool is_beside(const char *path, const char *file)
{
    char folder[PATH_MAX], whole[PATH_MAX];
    if (!realpath(path, folder) || !realpath(file, whole))
        return false;
    char *end = strrchr(folder, '/');
    if (!end)
        return false;
    end[1] = '\0';
    return strncmp(whole, folder, strlen(folder)) == 0;
}

static void add_source(source_texts_t *sources, const lab_check_session *session, const char *file)
{
    char why[256];
    size_t bytes;
    if (sources->count == SOURCES_MAX)
        return;
    for (int i = 0; i < sources->count; i++)
        if (strcmp(sources->items[i].file, file) == 0)
            return;
    char *text = NULL;
    if (strcmp(file, session->path) != 0 && is_beside(session->path, file))
        text = lab_file_read(file, LAB_TEXT_BYTES_MAX, &bytes, why, sizeof why);
    sources->texts[sources->count] = text;
    sources->items[sources->count++] = (lab_finding_source){file,
                                                            strcmp(file, session->path) == 0 ? session->text : text};
}

static void print_findings(const lab_check_session *session)
{
    source_texts_t sources = {.count = 0};
    for (int i = 0; i < session->findings.count; i++)
        add_source(&sources, session, session->findings.items[i].file);
    lab_finding_list_print_with(&session->findings, sources.items, sources.count, stdout);
    for (int i = 0; i < sources.count; i++)
        free(sources.texts[i]);
}

/* ---- Text ---- */

static void print_field(const char *name, const char *text)
{
    printf("  %-9s ", name);
    if (strlen(name) > 9)
        printf("\n%*s", LABEL_COLUMN, "");
    lab_text_wrap(text, LABEL_COLUMN, LABEL_COLUMN, lab_terminal_width(stdout), stdout);
}

static const char *contents_text(const lab_launch_argument *argument, char *text, size_t capacity)
{
    static const char *const words[] = {"random", "zero", "ones", "iota", "uninitialised"};
    if (argument->contents == LAB_CONTENTS_FILE)
        snprintf(text, capacity, "%.*s", LAB_VIEW(argument->file));
    else
        snprintf(text, capacity, "%s", words[argument->contents]);
    return text;
}

static void print_launch(const lab_check_session *session, const lab_check_launch *launch)
{
    char text[2048], contents[512];
    if (launch->source_line > 0)
        printf("%s, %s:%d\n", launch->name, lab_base_name(session->path), launch->source_line);
    else
        printf("%s, %s\n", launch->name, lab_base_name(session->path));
    snprintf(text, sizeof text, "%u x %u x %u blocks of %u x %u x %u threads", launch->grid[0], launch->grid[1],
             launch->grid[2], launch->block[0], launch->block[1], launch->block[2]);
    if (launch->shared_bytes > 0)
        lab_append(text, sizeof text, ", %lld bytes of dynamic shared memory", (long long)launch->shared_bytes);
    if (launch->line->line > 0)
        lab_append(text, sizeof text, " (from the comment in line %d)", launch->line->line);
    print_field("launch", text);
    *text = '\0';
    for (int i = 0; i < launch->pointer_count; i++) {
        const lab_check_pointer *pointer = &launch->pointers[i];
        const lab_check_array *array = pointer->array;
        lab_append(text, sizeof text, "%s%.*s = ", i > 0 ? ", " : "", LAB_VIEW(pointer->argument->name));
        if (!pointer->argument->is_array)
            lab_append(text, sizeof text, "%s", array->name);
        else
            lab_append(text, sizeof text, "%s[%lld] (%s)", lab_element_type_name(array->type), (long long)array->count,
                       pointer->is_first || pointer->argument->has_contents
                           ? contents_text(pointer->argument, contents, sizeof contents)
                           : "as before");
    }
    if (*text)
        print_field("arrays", text);
}

static void print_expectation(const lab_check_session *session, const lab_check_expectation *expectation)
{
    char text[1024];
    const lab_check_array *array = expectation->array;
    if (*session->stopped)
        snprintf(text, sizeof text, "%s was not compared: a launch did not end", expectation->name);
    else if (expectation->wrong == 0)
        snprintf(text, sizeof text, "%s equals %s; the largest difference is %.3g", expectation->name,
                 expectation->file, expectation->largest);
    else
        snprintf(text, sizeof text,
                 "%s differs from %s in %lld of %lld elements: %s[%lld] is %.9g, expected %.9g; the largest difference "
                 "is %.3g",
                 expectation->name, expectation->file, (long long)expectation->wrong, (long long)array->count,
                 expectation->name, (long long)expectation->first, expectation->got, expectation->expected,
                 expectation->largest);
    print_field(expectation->wrong > 0 ? "wrong" : "expected", text);
}

/* ---- Counts ---- */

static const char *kind_text(rung_emulator_line_kind kind)
{
    static const char *const words[] = {"global load",   "global store",  "global atomic", "shared load",
                                        "shared store",  "shared atomic", "local load",    "local store",
                                        "constant load", "branch",        "barrier"};
    return words[kind];
}

static void print_counts(const lab_check_session *session)
{
    static const char *const header[] = {"line",    "access", "array",      "requests",
                                         "sectors", "ideal",  "wavefronts", "ideal"};
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    lab_table_add(table, 8, header);
    for (int64_t i = 0; i < rung_emulator_line_count(session->emulator); i++) {
        const rung_emulator_line *row = rung_emulator_line_at(session->emulator, i);
        lab_table_begin_row(table);
        lab_table_cell(table, "%s:%d", lab_base_name(*row->file ? row->file : session->path), row->line);
        lab_table_cell(table, "%s", kind_text(row->kind));
        lab_table_cell(table, "%s", row->array);
        lab_table_cell(table, "%lld", (long long)row->requests);
        lab_table_cell(table, "%lld", (long long)row->sectors);
        lab_table_cell(table, "%lld", (long long)row->ideal_sectors);
        lab_table_cell(table, "%lld", (long long)row->wavefronts);
        lab_table_cell(table, "%lld", (long long)row->ideal_wavefronts);
    }
    lab_table_print(table, "lllrrrrr", stdout);
    free(table);
}

void lab_check_print(lab_check_session *session)
{
    for (int i = 0; i < session->lines.count; i++)
        print_launch(session, &session->launches[i]);
    char note[512];
    for (const char *at = session->code.log; lab_cuda_note_next(&at, note, sizeof note);)
        print_field("note", note);
    if (session->repeat > 1) {
        char text[64];
        snprintf(text, sizeof text, "%lld launches", (long long)session->cases);
        print_field("ran", text);
    }
    if (*session->stopped)
        print_field("stopped", session->stopped);
    for (int i = 0; i < session->expectation_count; i++)
        print_expectation(session, &session->expectations[i]);
    if (session->findings.count == 0)
        print_field("findings", "none");
    else
        print_findings(session);
    if (session->counts_accesses)
        print_counts(session);
}

/* ---- JSON ---- */

static void write_launches(const lab_check_session *session, lab_json *json)
{
    lab_json_begin(json, "launches", '[');
    for (int i = 0; i < session->lines.count; i++) {
        const lab_check_launch *launch = &session->launches[i];
        static const char *const names[] = {"grid", "block"};
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "kernel", launch->name);
        LAB_JSON_INTEGERS(json, {"line", launch->source_line}, {"shared_bytes", launch->shared_bytes});
        for (int d = 0; d < 2; d++) {
            lab_json_begin(json, names[d], '[');
            for (int k = 0; k < 3; k++)
                lab_json_integer(json, NULL, d == 0 ? launch->grid[k] : launch->block[k]);
            lab_json_end(json, ']');
        }
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_expectations(const lab_check_session *session, lab_json *json)
{
    lab_json_begin(json, "expected", '[');
    for (int i = 0; i < session->expectation_count; i++) {
        const lab_check_expectation *expectation = &session->expectations[i];
        lab_json_begin(json, NULL, '{');
        LAB_JSON_STRINGS(json, {"array", expectation->name}, {"file", expectation->file});
        LAB_JSON_INTEGERS(json, {"elements", expectation->array->count}, {"wrong", expectation->wrong});
        lab_json_number(json, "largest_difference", expectation->largest);
        if (expectation->wrong > 0) {
            lab_json_integer(json, "first", expectation->first);
            lab_json_number(json, "got", expectation->got);
            lab_json_number(json, "value", expectation->expected);
        }
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_counts(const lab_check_session *session, lab_json *json)
{
    lab_json_begin(json, "counts", '[');
    for (int64_t i = 0; i < rung_emulator_line_count(session->emulator); i++) {
        const rung_emulator_line *row = rung_emulator_line_at(session->emulator, i);
        char kernel[256];
        lab_kernel_source_name(row->kernel, kernel, sizeof kernel);
        lab_json_begin(json, NULL, '{');
        LAB_JSON_STRINGS(json, {"file", *row->file ? row->file : session->path}, {"kernel", kernel},
                         {"access", kind_text(row->kind)}, {"array", row->array});
        LAB_JSON_INTEGERS(json, {"line", row->line}, {"requests", row->requests}, {"sectors", row->sectors},
                          {"ideal_sectors", row->ideal_sectors}, {"wavefronts", row->wavefronts},
                          {"ideal_wavefronts", row->ideal_wavefronts}, {"bytes", row->bytes});
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

void lab_check_write_json(lab_check_session *session)
{
    int wrong = 0;
    lab_json json = lab_json_open(stdout, "rung-check/1");
    for (int i = 0; i < session->expectation_count; i++)
        wrong += session->expectations[i].wrong > 0;
    lab_json_string(&json, "file", session->path);
    LAB_JSON_INTEGERS(&json, {"cases", session->cases}, {"wrong", wrong});
    lab_json_string(&json, "stopped", session->stopped);
    char note[512];
    lab_json_begin(&json, "notes", '[');
    for (const char *at = session->code.log; lab_cuda_note_next(&at, note, sizeof note);)
        lab_json_string(&json, NULL, note);
    lab_json_end(&json, ']');
    write_launches(session, &json);
    write_expectations(session, &json);
    lab_finding_list_write(&session->findings, &json);
    if (session->counts_accesses)
        write_counts(session, &json);
    lab_json_end(&json, '}');
}
