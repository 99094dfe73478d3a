/* SPDX-License-Identifier: Apache-2.0 */
/* bench_results.c - see bench_results.h. */
#include "io/bench_results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

/* Treats a state that this version does not know as missing. Files of early versions have no "state": verified rows without a
 * time were implausible, and reasons of wrong results began with "WRONG". */
static lab_row_state state_of(const lab_json_value *fields)
{
    static const char wrong[] = "WRONG";
    lab_row_state state = lab_row_state_of(lab_json_get_text(fields, "state", ""));
    if (state < LAB_ROW_STATE_COUNT)
        return state;
    if (lab_json_get_true(fields, "verified"))
        return lab_json_get_integer(fields, "median_ns", 0) > 0 ? LAB_ROW_OK : LAB_ROW_IMPLAUSIBLE;
    const char *reason = lab_json_get_text(fields, "why_not", "");
    return strncmp(reason, wrong, strlen(wrong)) == 0 ? LAB_ROW_WRONG : LAB_ROW_REFUSED;
}

static lab_result row_of(const lab_json_value *fields)
{
    return (lab_result){
        .device = lab_json_get_text(fields, "device", ""),
        .kernel = lab_json_get_text(fields, "kernel", ""),
        .params = lab_json_get_text(fields, "params", ""),
        .dtype = lab_json_get_text(fields, "dtype", ""),
        .compute = lab_json_get_text(fields, "compute", "strict"),
        .epilogue = lab_json_get_text(fields, "epilogue", ""),
        .m = lab_json_get_integer(fields, "m", 0),
        .n = lab_json_get_integer(fields, "n", 0),
        .k = lab_json_get_integer(fields, "k", 0),
        .batch = lab_json_get_integer(fields, "batch", 1),
        .threads = lab_json_get_integer(fields, "threads", 0),
        .verified = lab_json_get_true(fields, "verified"),
        .state = state_of(fields),
        .median_ns = lab_json_get_integer(fields, "median_ns", 0),
        .min_ns = lab_json_get_integer(fields, "min_ns", 0),
        .ci95_ns = lab_json_get_integer(fields, "ci95_ns", 0),
        .gflops = lab_json_get_number(fields, "gflops", 0),
        .fields = fields,
    };
}

/* Returns NULL, or why rung bench cannot have written a row. */
static const char *find_row_error(const lab_result *row)
{
    if (!*row->kernel || !*row->dtype)
        return "a row has no kernel or no dtype";
    if (row->m < 0 || row->n < 0 || row->k < 0 || row->batch < 1)
        return "a row has an invalid size or batch";
    bool is_timed = row->median_ns > 0 && row->gflops >= 0;
    if (row->verified && !is_timed && !*lab_json_get_text(row->fields, "why_not", ""))
        return "a verified row has neither a time nor a reason (why_not)";
    return NULL;
}

static const char *collect_rows(lab_results *results)
{
    const lab_json_value *root = results->document.root, *rows = lab_json_get(root, "results");
    if (strcmp(lab_json_get_text(root, "schema", ""), "rung-bench/1") != 0 || rows->kind != LAB_JSON_ARRAY)
        return "not a result of rung bench; write one with: rung bench -o FILE";
    results->machine = lab_json_get(root, "machine");
    results->rows = calloc((size_t)rows->count + 1, sizeof *results->rows);
    if (!results->rows)
        return "out of memory";
    for (const lab_json_value *at = rows->first; at; at = at->next) {
        lab_result row = row_of(at);
        const char *error = find_row_error(&row);
        if (error)
            return error;
        results->rows[results->count++] = row;
    }
    return NULL;
}

/* Collects the rows of the document, unless there was an error. Returns false with a message that names the source. */
static bool finish(const char *name, const char *error, lab_results *results, char *why, size_t capacity)
{
    if (!error)
        error = collect_rows(results);
    if (!error)
        return true;
    snprintf(why, capacity, "%s: %s", name, error);
    lab_results_free(results);
    return false;
}

bool lab_results_load(const char *file, lab_results *results, char *why, size_t capacity)
{
    char error[256];
    *results = (lab_results){0};
    bool good = lab_json_document_load(file, &results->document, error, sizeof error);
    if (!good && access(file, R_OK) == 0) /* its text is not JSON: a table, CSV, or incomplete */
        lab_append(error, sizeof error, "; write results with: rung bench -o FILE");
    return finish(file, good ? NULL : error, results, why, capacity);
}

bool lab_results_parse(const char *text, size_t length, const char *name, lab_results *results, char *why,
                       size_t capacity)
{
    char error[256];
    *results = (lab_results){0};
    bool good = lab_json_document_parse(text, length, &results->document, error, sizeof error);
    return finish(name, good ? NULL : error, results, why, capacity);
}

void lab_results_free(lab_results *results)
{
    free(results->rows);
    lab_json_document_free(&results->document);
    *results = (lab_results){0};
}

/* Extracts the name and the version from "OpenBLAS 0.3.21 (Cooperlake), /usr/lib/libopenblas.so.0". */
void lab_result_format_kernel(const char *kernel, const char *library, char *text, size_t capacity)
{
    size_t length = strcspn(library, " (,"), number = strspn(library + length, " 0123456789.");
    if (number > 1)
        length += number;
    while (length > 0 && library[length - 1] == ' ')
        length--;
    snprintf(text, capacity, "%.*s", (int)(length > 0 ? length : strlen(kernel)), length > 0 ? library : kernel);
}
