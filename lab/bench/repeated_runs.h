/* SPDX-License-Identifier: Apache-2.0 */
/* repeated_runs.h - rung bench --runs N: the same measurement in N processes, one after the other, merged into one result.
 * If --baseline is an executable, each run is interleaved with a process of that executable (interleave.h), which makes N
 * pairs. */
#ifndef LAB_REPEATED_RUNS_H
#define LAB_REPEATED_RUNS_H

#include "cli/options.h"

/* Reads --runs and its default, and checks the options that do not suit several runs. Returns NULL, or an error. */
const char *lab_bench_count_runs(const lab_options *options, int64_t *runs);

/* Reads --budget and its default, in seconds. Returns NULL, or an error. */
const char *lab_bench_parse_budget(const lab_options *options, double *seconds);

/* Measures `runs` times and prints, saves and compares the merged result. Returns an exit code. */
int lab_bench_run_many(const lab_options *options, int64_t runs);

#endif /* LAB_REPEATED_RUNS_H */
