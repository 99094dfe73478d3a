/* SPDX-License-Identifier: Apache-2.0 */
/* bench_save.h - rung bench --output: results are saved after each problem, so that a later failure does not lose them. The
 * file is replaced by a rename and is complete at any time. */
#ifndef LAB_BENCH_SAVE_H
#define LAB_BENCH_SAVE_H

#include "bench/bench_result.h"

/* Set to "1" in the environment of the runs that lab_bench_run_many() starts. */
#define LAB_CHILD_RUN_VARIABLE "RUNG_BENCH_PART"

/* Reports whether this process is one of several runs: then its parent compares the results and owns the output files. */
bool lab_bench_is_child_run(void);

/* Checks before the measurement that --output and --baseline-json can be written. Returns an exit code. */
int lab_bench_check_output(const lab_options *options);

/* Saves the result so far to the file of --output, if there is one. Returns false after a message. */
bool lab_bench_save(lab_bench_result *bench);

/* Replaces the file `name` by what `print` writes, completely or not at all. Returns false after a message. */
bool lab_bench_save_file(const char *name, void (*print)(void *data, FILE *out), void *data);

#endif /* LAB_BENCH_SAVE_H */
