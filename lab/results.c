/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - see results.h. */
#include "results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files written before rows had a "state": verified rows without a time were implausible, and the sentences of wrong
 * results began with this word. Those files do not change any more. */
static lab_row_state state_without_field(const lab_value *fields)
{
    static const char wrong[] = "WRONG";
    if (lab_is_true(fields, "verified"))
        return lab_integer(fields, "median_ns", 0) > 0 ? LAB_ROW_OK : LAB_ROW_IMPLAUSIBLE;
    return strncmp(lab_text(fields, "why_not", ""), wrong, strlen(wrong)) == 0 ? LAB_ROW_WRONG : LAB_ROW_REFUSED;
}

/* A state that this version does not know counts as none. */
static lab_row_state state_of(const lab_value *fields)
{
    lab_row_state state = lab_row_state_of(lab_text(fields, "state", ""));
    return state < LAB_ROW_STATE_COUNT ? state : state_without_field(fields);
}

static lab_result row_of(const lab_value *fields)
{
    return (lab_result){
        .device = lab_text(fields, "device", ""),
        .kernel = lab_text(fields, "kernel", ""),
        .params = lab_text(fields, "params", ""),
        .dtype = lab_text(fields, "dtype", ""),
        .compute = lab_text(fields, "compute", "strict"),
        .epilogue = lab_text(fields, "epilogue", ""),
        .m = lab_integer(fields, "m", 0),
        .n = lab_integer(fields, "n", 0),
        .k = lab_integer(fields, "k", 0),
        .batch = lab_integer(fields, "batch", 1),
        .threads = lab_integer(fields, "threads", 0),
        .verified = lab_is_true(fields, "verified"),
        .state = state_of(fields),
        .median_ns = lab_integer(fields, "median_ns", 0),
        .min_ns = lab_integer(fields, "min_ns", 0),
        .ci95_ns = lab_integer(fields, "ci95_ns", 0),
        .gflops = lab_number(fields, "gflops", 0),
        .fields = fields,
    };
}

/* What rung bench cannot have written is told, not guessed at. */
static const char *find_fault(const lab_result *row)
{
    if (!*row->kernel || !*row->dtype)
        return "a row without a kernel or a dtype";
    if (row->m < 0 || row->n < 0 || row->k < 0 || row->batch < 1)
        return "a row with no size";
    bool is_timed = row->median_ns > 0 && row->gflops >= 0;
    if (row->verified && !is_timed && !*lab_text(row->fields, "why_not", ""))
        return "a verified row with neither a time nor a reason why not";
    return NULL;
}

static const char *gather(lab_results *results)
{
    const lab_value *root = results->document.root, *rows = lab_field(root, "results");
    if (strcmp(lab_text(root, "schema", ""), "rung-bench/1") != 0 || rows->kind != LAB_ARRAY)
        return "it is not a result of rung bench; write one with: rung bench -o FILE";
    results->machine = lab_field(root, "machine");
    results->rows = calloc((size_t)rows->count + 1, sizeof *results->rows);
    if (!results->rows)
        return "out of memory";
    for (const lab_value *at = rows->first; at; at = at->next) {
        lab_result row = row_of(at);
        const char *fault = find_fault(&row);
        if (fault)
            return fault;
        results->rows[results->count++] = row;
    }
    return NULL;
}

static bool fail(const char *name, const char *fault, lab_results *results, char *why, size_t capacity)
{
    snprintf(why, capacity, "%s: %s", name, fault);
    lab_results_free(results);
    return false;
}

bool lab_results_load(const char *file, lab_results *results, char *why, size_t capacity)
{
    char inner[256];
    *results = (lab_results){0};
    if (!lab_document_load(file, &results->document, inner, sizeof inner)) {
        bool is_readable = access(file, R_OK) == 0; /* then its text is not JSON: a table, CSV, or cut short */
        size_t used = strlen(inner);
        if (is_readable)
            snprintf(inner + used, sizeof inner - used, "; write results with: rung bench -o FILE");
        return fail(file, inner, results, why, capacity);
    }
    const char *fault = gather(results);
    return !fault || fail(file, fault, results, why, capacity);
}

bool lab_results_read(const char *text, size_t length, const char *name, lab_results *results, char *why,
                      size_t capacity)
{
    char inner[256];
    *results = (lab_results){0};
    if (!lab_document_read(text, length, &results->document, inner, sizeof inner))
        return fail(name, inner, results, why, capacity);
    const char *fault = gather(results);
    return !fault || fail(name, fault, results, why, capacity);
}

void lab_results_free(lab_results *results)
{
    free(results->rows);
    lab_document_free(&results->document);
    *results = (lab_results){0};
}

/* "OpenBLAS 0.3.21 (Cooperlake), /usr/lib/libopenblas.so.0": the name, and the number behind it if there is one. */
void lab_write_kernel(const char *kernel, const char *library, char *text, size_t capacity)
{
    size_t length = strcspn(library, " (,"), number = strspn(library + length, " 0123456789.");
    if (number > 1)
        length += number;
    while (length > 0 && library[length - 1] == ' ')
        length--;
    snprintf(text, capacity, "%.*s", (int)(length > 0 ? length : strlen(kernel)), length > 0 ? library : kernel);
}
