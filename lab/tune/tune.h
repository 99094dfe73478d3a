/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - finds the fastest kernel and parameters of a device for given problems and saves them where the library reads
 * them. The interface of lab/tune to the rest of the lab.
 *
 * Drivers that compile a candidate may hang or end the process, and compiled code stays in memory until the device is
 * closed. A worker process therefore does the search, and the calling process supervises it. If a worker ends, its
 * journal names the last candidate, and another worker continues after it. Resuming a killed run works the same way. */
#pragma once

#include "cli/options.h"
#include "target/target.h"

typedef struct lab_tune_session lab_tune_session;

/* What to tune, besides the problems. */
typedef struct lab_tune_request {
    const lab_options *options;
    lab_dtype dtype;
    uint64_t seed;
    bool is_a_col_major, is_b_col_major;
    double budget_seconds;
} lab_tune_request;

/* Creates a session without problems; NULL if memory is exhausted. */
lab_tune_session *lab_tune_session_create(const lab_tune_request *request);
void lab_tune_session_free(lab_tune_session *session);

/* Adds a problem. Returns false if a size is below 1 or the session is full. */
bool lab_tune_add_problem(lab_tune_session *session, int64_t m, int64_t n, int64_t k);

/* Checks that the store is writable before a long search. Returns an exit code. */
int lab_tune_check_store(const lab_options *options);

/* Tunes all problems, saves and prints the results, and exports the store if requested. Returns an exit code. */
int lab_tune_run(lab_tune_session *session);

/* Removes the records of all problems from the store without measuring. Returns an exit code. */
int lab_tune_remove_records(lab_tune_session *session);
