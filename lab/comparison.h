/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - results of rung bench from two sides, old and new: which rows measure the same thing, and
 * whether their times differ.
 *
 * A side is one file or several. Each file holds one run (a process) or several, see `runs_ns` in
 * docs/benchmarking.md. */
#ifndef LAB_COMPARISON_H
#define LAB_COMPARISON_H

#include <stdio.h>

#include "results.h"
#include "verdict.h"

typedef struct lab_side {
    const lab_results *files;
    int count;
} lab_side;

/* The rows of one side that measure the same thing: one per file, NULL where a file has none. */
typedef struct lab_row_runs {
    const lab_result *row; /* the first */
    const lab_result **of_file;
} lab_row_runs;

/* A row that both sides have. Where nothing can be compared `why_not` says why; where the result is
 * LAB_UNKNOWN `note` does. Both are "" otherwise. */
typedef struct lab_pair {
    const lab_row_runs *before, *after;
    lab_evidence evidence;
    double peak_change; /* of the probe beside the samples, new over old less one; NAN if unknown */
    bool is_wrong;      /* a new result is wrong, or faster than its instructions allow */
    const char *why_not, *note;
} lab_pair;

typedef struct lab_comparison {
    bool interleaved; /* each run of one side was measured next to one of the other */
    lab_pair *pairs;
    lab_row_runs *before, *after;
    int64_t before_count, after_count;
    int64_t count, totals[LAB_JUDGEMENT_COUNT];   /* how many rows got each judgement */
    const lab_result **only_before, **only_after; /* rows that the other side does not have */
    int64_t only_before_count, only_after_count;
} lab_comparison;

/* Compares two sides. The comparison refers to both. False if memory is short; nothing is to be freed then. */
bool lab_comparison_make(const lab_side *before, const lab_side *after, lab_comparison *comparison);
void lab_comparison_free(lab_comparison *comparison);

void lab_comparison_print(const lab_comparison *comparison, FILE *out);
void lab_comparison_print_json(const lab_comparison *comparison, FILE *out);

/* Returns the exit code: LAB_WRONG if a new result is wrong, LAB_SLOWED if any row is slower, LAB_NOTHING if
 * no row could be compared, else LAB_GOOD. */
int lab_comparison_code(const lab_comparison *comparison);

/* Collects the rows of a side by what they measure. `rows` has room for all rows of all files; returns how
 * many there are. Each has its own of_file, to be freed; -1 if memory is short. */
int64_t lab_side_gather(const lab_side *side, lab_row_runs *rows);
void lab_side_release(lab_row_runs *rows, int64_t count);

/* Whether the row has a time that counts: its result was verified. */
bool lab_has_time(const lab_result *row);

/* The logarithms of the times of a row's runs, one per run, at most `capacity`; returns how many. */
int64_t lab_run_times(const lab_row_runs *runs, int files, double *logs, int64_t capacity);

/* The same of two rows whose runs were interleaved, only of pairs of runs in which both have a time. */
int64_t lab_run_pairs(const lab_row_runs *before, const lab_row_runs *after, int files, double *before_logs,
                      double *after_logs, int64_t capacity);

/* Whether the i-th file of one side was interleaved with the i-th of the other, for all of them. */
bool lab_sides_interleaved(const lab_side *before, const lab_side *after);

/* Whether two rows measure the same thing; parameters count only if asked for. */
bool lab_same_row(const lab_result *x, const lab_result *y, bool with_params);

/* "f32 64x64x64 batch 3 bias", what the row multiplied. */
void lab_write_row_problem(const lab_result *row, char *text, size_t capacity);

#endif /* LAB_COMPARISON_H */
