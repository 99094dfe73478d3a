/* SPDX-License-Identifier: Apache-2.0 */
/* tune_search.h - the search of rung_tune(), whose state tune_api.c creates and reads. */
#pragma once

#include "core/choose/tune_bench.h"

enum { RUNGI_TUNE_TRIALS_MAX = 4096 };

/* A kernel with parameters. */
typedef struct rungi_tune_trial {
    const rung_kernel *kernel;
    rungi_parameter_values values;
    bool is_done;
    double ratio; /* time divided by the time of the untuned plan; 0: rejected, or not run */
    int64_t nanoseconds;
} rungi_tune_trial;

typedef struct rungi_tuner {
    rung_device *device;
    rung_tune_options options;
    rung_plan *scratch; /* for default parameters; has no kernel of its own */
    rung_plan *untuned;
    int64_t untuned_ns; /* the best time of the untuned plan so far */
    rungi_tune_bench bench;
    rungi_tune_trial *trials; /* the first is the untuned plan */
    int64_t count, done, best;
    int64_t tried, rejected;
    int64_t search_end, end; /* on the clock of rungi_clock_ns() */
    bool is_stopped;         /* the progress function asked to stop */
} rungi_tuner;

/* Adds and measures trials until the time is up. The first trial exists. */
rung_status rungi_tuner_search(rungi_tuner *tuner);

double rungi_tuner_gflops(const rungi_tuner *tuner, int64_t nanoseconds);

/* Creates the plan of a trial and formats its parameters. */
rung_status rungi_tuner_create_plan(rungi_tuner *tuner, const rungi_tune_trial *trial,
                                    char parameters[RUNG_PARAMETERS_BYTES], rung_plan **plan);

/* Times the untuned plan and this one, one after the other. */
rung_status rungi_tuner_time_interleaved(rungi_tuner *tuner, rung_plan *plan, int64_t *untuned_ns,
                                         int64_t *nanoseconds);

/* Calls the progress function after a trial. */
void rungi_tuner_report_progress(rungi_tuner *tuner, const rungi_tune_trial *trial);
