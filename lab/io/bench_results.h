/* SPDX-License-Identifier: Apache-2.0 */
/* bench_results.h - reads results of rung bench (JSON, schema rung-bench/1) for rung compare and rung report. */
#pragma once

#include "io/row_state.h"
#include "io/json_reader.h"

/* One row: its most used fields, and all of them. */
typedef struct lab_result {
    const char *device, *kernel, *params, *dtype, *compute, *epilogue;
    int64_t m, n, k, batch, threads;
    bool verified; /* otherwise it has no times; nor if its state is LAB_ROW_IMPLAUSIBLE */
    lab_row_state state;
    int64_t median_ns, min_ns, ci95_ns;
    double gflops;
    const lab_json_value *fields;
} lab_result;

typedef struct lab_results {
    lab_json_document document;
    const lab_json_value *machine; /* the object of run_info.h */
    lab_result *rows;
    int64_t count;
} lab_results;

/* Reads a file. Returns false with a message that names the file; then there is nothing to free. */
bool lab_results_load(const char *file, lab_results *results, char *why, size_t capacity);

/* Reads a text; `name` is used in messages. */
bool lab_results_parse(const char *text, size_t length, const char *name, lab_results *results, char *why,
                       size_t capacity);
void lab_results_free(lab_results *results);

/* Formats the name of a row for tables: the kernel's name, or the name and version of a vendor's library ("OpenBLAS 0.3.21")
 * if `library` (see rung_plan_info) contains them. */
void lab_result_format_kernel(const char *kernel, const char *library, char *text, size_t capacity);
