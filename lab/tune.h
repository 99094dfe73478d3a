/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - what rung tune's two halves share: the process that watches (command_tune.c) and the
 * one that works (tune.c). */
#ifndef LAB_TUNE_H
#define LAB_TUNE_H

#include "finals.h"
#include "journal.h"
#include "options.h"
#include "search.h"
#include "target.h"

enum {
    LAB_TUNED_MAX = 64,
    LAB_AGAIN = 3, /* a worker's exit code: another is to go on */
};

/* One problem and what came of it. */
typedef struct lab_tuned {
    int64_t m, n, k;
    char key[2048];
    bool is_done, is_of_another; /* of the class of a later one, which stands for both */
    lab_counts counts;
    lab_finals finals;
    double seconds;
    bool saved, is_lost;  /* a winner that should have been saved and could not be */
    bool record_removed;  /* the record was slower than the defaults, or wrong, */
    bool record_replaced; /* or it is in another file, and the defaults were saved over it */
    int64_t start_ns, end_ns;
    char record_kernel[64], record_parameters[LAB_PARAMETERS_TEXT]; /* by the store; "": none */
} lab_tuned;

/* A copy of what a device reports: the texts of a rung_device_info end with the worker that opened the device. */
typedef struct lab_tuned_device {
    char name[64], backend[32], title[256], platform[256], driver[256];
    int64_t compute_units;
} lab_tuned_device;

/* What outlives a worker. */
typedef struct lab_tuning_run {
    lab_watch watch;
    lab_tuned problems[LAB_TUNED_MAX];
    int problem_count;
    lab_tuned_device device;
    char path[1024], head[512]; /* of the journal */
    int64_t began_ns, budget_ns;
} lab_tuning_run;

typedef struct lab_tuner {
    const lab_options *options;
    lab_dtype dtypes[LAB_DTYPES_MAX];
    uint64_t seed;
    bool a_by_columns, b_by_columns;
    lab_tuning_run *shared;
    lab_target target;
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    int kernel_count;
    lab_journal journal;
} lab_tuner;

/* Works on the next problem until it is done or so much was tried that another process should
 * go on. An exit code. */
int lab_tune_work(lab_tuner *tuner);

/* Removes the records of all problems from the store, and measures nothing. Returns an exit code. */
int lab_tune_remove(lab_tuner *tuner);

/* What is to be done next, NULL if nothing is. */
lab_tuned *lab_tune_next(lab_tuning_run *run);

#endif /* LAB_TUNE_H */
