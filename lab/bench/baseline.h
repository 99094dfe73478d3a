/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.h - compares rung bench with --baseline: a result file, or another executable that is measured interleaved with
 * this one. */
#ifndef LAB_BASELINE_H
#define LAB_BASELINE_H

#include "bench/bench_result.h"
#include "bench/interleave.h"
#include "compare/compare.h"

#define LAB_BASELINE_JSON_USAGE "--baseline-json requires a --baseline that is an executable"

/* Reports whether the file is an executable; otherwise it is a result, which is read after the measurement. Returns NULL,
 * or why the file is neither. */
const char *lab_baseline_detect(const char *file, bool *is_executable);

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

#endif /* LAB_BASELINE_H */
