/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - compares results of `rung bench` of two sides, old and new: finds the rows that measure the same and
 * decides whether their times differ. The interface of lab/compare to the rest of the lab.
 *
 * A side is one or more files. Each file holds one or more runs (processes); see `runs_ns` in
 * docs/guides/benchmarking.md. */
#pragma once

#include <stdio.h>

#include "io/bench_results.h"
#include "compare/significance.h"

typedef struct lab_compare_side {
    const lab_results *files;
    int count;
} lab_compare_side;

/* The rows of one side that measure the same: one per file, NULL for a file without such a row. */
typedef struct lab_compare_row {
    const lab_result *row; /* the first one */
    const lab_result **by_file;
    bool is_matched; /* set by lab_comparison_create: the other side has such a row, too */
} lab_compare_row;

typedef struct lab_compare_rows {
    lab_compare_row *list;
    int64_t count;
} lab_compare_rows;

/* A row of both sides. `why_not` says why the rows cannot be compared, `note` why the result is LAB_CHANGE_UNKNOWN;
 * otherwise both are "". */
typedef struct lab_compare_row_pair {
    const lab_compare_row *before, *after;
    lab_change_estimate estimate;
    double peak_change; /* of the probe beside the samples, new / old - 1; NAN if unknown */
    bool is_wrong;      /* the new result is wrong, or faster than its instructions allow */
    const char *why_not, *note;
} lab_compare_row_pair;

typedef struct lab_comparison {
    bool interleaved; /* each run of one side was measured next to a run of the other */
    lab_compare_rows before, after;
    lab_compare_row_pair *pairs;                   /* the rows that both sides have */
    int64_t count, totals[LAB_CHANGE_CLASS_COUNT]; /* of the pairs, and of each change_class among them */
} lab_comparison;

/* Compares two sides, which must outlive the comparison. Returns false if memory is exhausted; then nothing needs to be
 * freed. */
bool lab_comparison_create(const lab_compare_side *before, const lab_compare_side *after, lab_comparison *comparison);
void lab_comparison_free(lab_comparison *comparison);

void lab_comparison_print(const lab_comparison *comparison, FILE *out);
void lab_comparison_print_json(const lab_comparison *comparison, FILE *out);

/* Returns the exit code: LAB_EXIT_WRONG if a new result is wrong, LAB_EXIT_SLOWER if any row is slower, LAB_EXIT_UNAVAILABLE if
 * no row could be compared, else LAB_EXIT_SUCCESS. */
int lab_comparison_exit_code(const lab_comparison *comparison);

/* Collects the rows of a side that measure the same. Returns false if memory is exhausted. The caller frees the rows in
 * any case. */
bool lab_compare_rows_collect(const lab_compare_side *side, lab_compare_rows *rows);
void lab_compare_rows_free(lab_compare_rows *rows);

/* Returns whether the row has a time and its result was verified. */
bool lab_result_has_time(const lab_result *row);

/* Writes the logarithm of the time of each run of a row, at most `capacity`. Returns their number. */
int64_t lab_compare_row_log_times(const lab_compare_row *runs, int files, double *logs, int64_t capacity);

/* Does the same for two rows with interleaved runs; skips pairs of which one run has no time. */
int64_t lab_compare_row_log_time_pairs(const lab_compare_row *before, const lab_compare_row *after, int files,
                                       double *before_logs, double *after_logs, int64_t capacity);

/* Returns whether two rows measure the same; `with_params` compares the parameters, too. */
bool lab_result_is_same_row(const lab_result *x, const lab_result *y, bool with_params);

/* Writes the problem of a row: "f32 64x64x64 batch 3 bias". */
void lab_result_format_problem(const lab_result *row, char *text, size_t capacity);
