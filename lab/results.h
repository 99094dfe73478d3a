/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - what rung bench wrote (`--json`, schema rung-bench/1), read again: for comparing
 * and for drawing. */
#ifndef LAB_RESULTS_H
#define LAB_RESULTS_H

#include "row_state.h"
#include "value.h"

/* A row: what is asked of it most, and all of it. */
typedef struct lab_result {
    const char *device, *kernel, *params, *dtype, *compute, *epilogue;
    int64_t m, n, k, batch, threads;
    bool verified; /* else it has no times; nor if its state is LAB_ROW_IMPLAUSIBLE */
    lab_row_state state;
    int64_t median_ns, min_ns, ci95_ns;
    double gflops;
    const lab_value *fields;
} lab_result;

typedef struct lab_results {
    lab_document document;
    const lab_value *machine; /* its fields */
    lab_result *rows;
    int64_t count;
} lab_results;

/* False with a sentence that names the file; nothing is to be freed then. */
bool lab_results_load(const char *file, lab_results *results, char *why, size_t capacity);

/* The same from text, which is called so. */
bool lab_results_read(const char *text, size_t length, const char *name, lab_results *results, char *why,
                      size_t capacity);
void lab_results_free(lab_results *results);

/* Writes what a table calls the row: the kernel's name, of a vendor's library the name and version of that
 * library ("OpenBLAS 0.3.21"), where `library` (see rung_plan_info) tells them. */
void lab_write_kernel(const char *kernel, const char *library, char *text, size_t capacity);

#endif /* LAB_RESULTS_H */
