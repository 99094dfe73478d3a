/* SPDX-License-Identifier: Apache-2.0 */
/* tune_internal.h - the state of `rung tune` that the supervising process and its workers share, for lab/tune only. */
#pragma once

#include "tune/final_comparison.h"
#include "tune/tune.h"

enum {
    LAB_TUNE_PROBLEMS_MAX = 64,
    LAB_TUNE_EXIT_RESTART = 3, /* exit code of a worker: start another one */
};

/* A problem and its result. */
typedef struct lab_tune_result {
    lab_shape size;
    char key[2048];
    bool is_done, is_same_class_as_later; /* a later problem of the same size class represents both */
    lab_trial_counts counts;
    lab_final_comparison final_comparison;
    double seconds;
    bool saved, has_save_failed; /* a winner could not be saved */
    bool record_removed;         /* the record was wrong or slower than the defaults */
    bool record_replaced;        /* such a record in another file was overridden by the defaults */
    int64_t start_ns, end_ns;
    char record_kernel[64], record_parameters[LAB_PARAMETERS_BYTES]; /* of the store; "": none */
} lab_tune_result;

/* A copy of the device's description: the texts of a rung_device_info exist only in the worker that opened it. */
typedef struct lab_tune_device {
    char name[64], backend[32], title[256], platform[256], driver[256];
    int64_t compute_units;
} lab_tune_device;

/* Shared memory, which outlives a worker. */
typedef struct lab_tune_shared_state {
    lab_trial_watch watch;
    lab_tune_result problems[LAB_TUNE_PROBLEMS_MAX];
    int problem_count;
    lab_tune_device device;
    char path[1024], header[512]; /* of the journal */
    int64_t began_ns, budget_ns;
} lab_tune_shared_state;

struct lab_tune_session {
    lab_tune_request request;
    lab_tune_shared_state *shared;
    lab_target target;
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    int kernel_count;
    lab_journal journal;
};

/* Works on the next problem until it is finished or until another process should continue (tune_worker.c). Returns an
 * exit code. */
int lab_tune_worker_run(lab_tune_session *session);

/* Ends the work on a problem without a result, and records why. */
void lab_tune_skip_problem(lab_tune_result *tuned, const char *why);

/* Returns the next problem to work on; NULL after the last. */
lab_tune_result *lab_tune_next_problem(lab_tune_shared_state *shared);

/* Marks the problems that share a size class with a later one, which represents both. */
void lab_tune_find_size_classes(lab_tune_session *session);

/* Returns the problem without data. */
rung_problem lab_tune_problem_form(const lab_tune_session *session, const lab_tune_result *tuned);

/* Find the problem's record in the store before the search; save the winner, or remove a bad record, after it
 * (tune_store.c). */
void lab_tune_find_record(const lab_tune_session *session, lab_tune_result *tuned);
void lab_tune_update_store(lab_tune_session *session, const lab_bench_problem *problem, lab_tune_result *tuned);

/* Copies the records of the store to the file of --export. Returns an exit code. */
int lab_tune_export_store(const lab_options *options);

/* Prints the results as a table or as JSON (tune_print.c). */
void lab_tune_print_results(const lab_tune_session *session);
