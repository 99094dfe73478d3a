/* SPDX-License-Identifier: Apache-2.0 */
/* bench_runs.h - rung bench --runs N: the same measurement in N processes, one after the other, merged into
 * one result. With an executable as --baseline each of them is measured interleaved with a process of that
 * executable (turns.h), which makes N pairs. */
#ifndef LAB_BENCH_RUNS_H
#define LAB_BENCH_RUNS_H

#include "options.h"

/* Reads --runs and its default. Returns NULL, or what is wrong. */
const char *lab_bench_count_runs(const lab_options *options, int64_t *runs);

/* Measures `runs` times and prints, saves and compares the merged result. Returns an exit code. */
int lab_bench_run_many(const lab_options *options, int64_t runs);

/* Whether lab_bench_run_many started this process: then it compares nothing itself. */
bool lab_bench_is_part(void);

#endif /* LAB_BENCH_RUNS_H */
