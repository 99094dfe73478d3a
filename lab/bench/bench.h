/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - the interface of this directory for the rest of the lab: rung bench, rung peak, and the measurement of single
 * contenders, which rung tune uses too. */
#ifndef LAB_BENCH_H
#define LAB_BENCH_H

#include "bench/bench_result.h"
#include "bench/contender.h"
#include "bench/machine_conditions.h"
#include "bench/peak.h"
#include "bench/peer_environment.h"
#include "bench/repeated_runs.h"
#include "bench/sample_statistics.h"

enum { LAB_BENCH_TIME_LIMIT_SECONDS = 600 }; /* the default of --time-limit */

/* Measures all problems of the options in this process, and prints, saves and compares the results. Returns an exit
 * code. */
int lab_bench_run(const lab_options *options);

/* Calls lab_bench_run() in a child process, since a kernel file may contain an endless loop: a step that takes longer than
 * `seconds` ends it. Returns an exit code. */
int lab_bench_run_supervised(const lab_options *options, double seconds);

#endif /* LAB_BENCH_H */
