/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.h - rung bench in several processes: compares with --baseline, which is a result file or another executable that
 * is measured interleaved with this one, and merges the results of --runs. */
#pragma once

#include "bench/bench_result.h"
#include "bench/interleave.h"
#include "compare/compare.h"

#define LAB_BASELINE_JSON_USAGE "--baseline-json requires a --baseline that is an executable"

/* Reports whether the file is an executable; otherwise it is a result, which is read after the measurement. Returns NULL,
 * or why the file is neither. */
const char *lab_baseline_detect(const char *file, bool *is_executable);

/* Writes the arguments of PROGRAM bench with these options, for execv(). Returns the index of the first argument that
 * lab_bench_arguments_free() frees. */
enum { LAB_BENCH_ARGUMENTS_MAX = 96 };
int lab_bench_arguments(const char *program, const lab_options *options, char *list[LAB_BENCH_ARGUMENTS_MAX]);
void lab_bench_arguments_free(char **list, int first);

/* Starts the executable with the options of this process and the same seed. Returns false with the reason in
 * interleave->why. */
bool lab_baseline_start(const lab_options *options, const lab_bench_result *bench, lab_interleave *interleave);

/* Reads the baseline's results, compares this run with them, and writes --baseline-json. Returns an exit code:
 * LAB_EXIT_SLOWER if a row is slower. */
int lab_baseline_compare(const lab_options *options, const lab_bench_result *bench, lab_interleave *interleave);

/* Compares two sides and prints the comparison to `out`, unless it is NULL. Returns an exit code, after a message on
 * standard error if nothing could be compared. */
int lab_baseline_print_comparison(const char *baseline, const lab_compare_side *before, const lab_compare_side *after,
                                  FILE *out);

/* Converts what `print` writes to results, as if they were read from a file. `name` is used in messages. */
bool lab_results_from_writer(void (*print)(void *data, FILE *out), void *data, const char *name, lab_results *results,
                             char *why, size_t capacity);

/* ---- Results of several runs (bench_merge.c) ---- */

enum { LAB_BENCH_RUNS_MAX = 1000 };

typedef struct lab_bench_merge {
    const lab_results *runs;     /* one per run */
    const lab_results *partners; /* the interleaved runs, or NULL */
    int count;                   /* of both, at most LAB_BENCH_RUNS_MAX */
    bool is_old;                 /* `runs` are those of --baseline, `partners` the new ones */
    bool is_complete;            /* no run is missing */
} lab_bench_merge;

/* Writes the merged document as JSON. A row that was wrong or implausible in any run is so in the result, and has no
 * time. Otherwise its numbers are those of the runs that have a time, and its other fields those of the first of them. */
void lab_bench_merge_write(const lab_bench_merge *merge, FILE *out);
