/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - the interface of this directory for the rest of the lab: rung bench, rung peak, and the measurement of single
 * contenders, which rung tune uses too. */
#pragma once

#include "bench/contender.h"
#include "bench/peak.h"

enum { LAB_BENCH_TIME_LIMIT_SECONDS = 600 }; /* the default of --time-limit */

/* Measures all problems of the options in this process, and prints, saves and compares the results. Returns an exit
 * code. */
int lab_bench_run(const lab_options *options);

/* Calls lab_bench_run() in a child process, since a kernel file may contain an endless loop: a step that takes longer than
 * `seconds` ends it. Returns an exit code. */
int lab_bench_run_supervised(const lab_options *options, double seconds);

/* Reads --runs and its default, and checks the options that do not suit several runs. Returns NULL, or an error. */
const char *lab_bench_count_runs(const lab_options *options, int64_t *runs);

/* Implements --runs N (repeated_runs.c): measures in `runs` processes, one after the other, and prints, saves and compares
 * the merged result. If --baseline is an executable, each run is interleaved with a process of that executable
 * (interleave.h), which makes `runs` pairs. Returns an exit code. */
int lab_bench_run_many(const lab_options *options, int64_t runs);
