/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - searches the fastest kernel and parameters for one problem within a time limit.
 *
 * The search first tries the library's own choice, then every kernel's defaults, the best candidates of other problems,
 * and presets. It then alternates between neighbours of the best candidates and the untried points with the highest score
 * (lab_candidate_score). Each candidate is verified before it is timed. The best candidates and the defaults are then
 * timed again, interleaved (final_comparison.h), because a short timing favours lucky candidates.
 *
 * The next candidate depends only on the journal, so another process can continue the search at any point. */
#pragma once

#include <stdatomic.h>

#include "bench/bench.h"
#include "target/target.h"
#include "tune/parameter_space.h"
#include "tune/tune_journal.h"

/* Shared with the supervising process. */
typedef struct lab_trial_watch {
    _Atomic int64_t trial_began_ns; /* start of the current candidate; 0: none */
    _Atomic int64_t deadline_ns;    /* when it should end */
    lab_trial trial;                /* the current candidate */
    int64_t steps;                  /* candidates started by all processes */
} lab_trial_watch;

/* Counts of all processes of a search. */
typedef struct lab_trial_counts {
    int64_t tried, refused, wrong, crashed, invalid_count;
} lab_trial_counts;

/* A point and its expected speed. */
typedef struct lab_scored_point {
    lab_parameter_point point;
    double rank;
    bool done;
} lab_scored_point;

typedef struct lab_search_kernel {
    const rung_kernel *kernel;
    const char *name;
    uint64_t source;
    lab_parameter_space space;
    lab_scored_point *points; /* in descending order of rank */
    int64_t point_count;
} lab_search_kernel;

typedef struct lab_search {
    lab_target *target;
    lab_journal *journal;
    lab_trial_watch *watch;
    lab_trial_counts *counts;
    const lab_bench_problem *problem;
    lab_search_kernel entries[LAB_KERNELS_MAX]; /* the kernels of the search */
    int entry_count;
    uint64_t seed;
    bool quiet;
    int64_t (*final_start_ns)(const struct lab_search *search); /* when the final comparison must begin */
    int64_t began_ns;                                           /* of all problems */
    int64_t start_ns, end_ns;                                   /* of this problem, including the final comparison */
    int64_t trials_left;                                        /* remaining candidates of this process */
    const rung_kernel *library_kernel;                          /* the library's choice without tuning; NULL: none */
    char library_parameters[LAB_PARAMETERS_BYTES];
    const rung_kernel *stored_kernel; /* the store's record; NULL: none */
    char stored_parameters[LAB_PARAMETERS_BYTES];
} lab_search;

/* Creates the parameter spaces of the kernels. Returns false if memory is exhausted. */
bool lab_search_begin(lab_search *search, const rung_kernel *const *kernels, int count);
void lab_search_end(lab_search *search);

typedef enum lab_search_result { LAB_SEARCH_DONE, LAB_SEARCH_RESTART_WORKER, LAB_SEARCH_FAILED } lab_search_result;

/* Tries candidates until the time is over or none is left. Returns LAB_SEARCH_RESTART_WORKER if another process should
 * continue, which frees the compiled code of this one, and LAB_SEARCH_FAILED if the journal cannot be written. */
lab_search_result lab_search_run(lab_search *search);

/* Finds the fastest trials of this problem, the best first, until the journal changes. Returns their number, at most
 * `capacity`. */
int lab_search_best(const lab_search *search, const lab_trial **trials, int capacity);

/* Returns a trial of this problem, not yet run; `source` is the hash of the kernel's source. */
lab_trial lab_search_trial(const lab_search *search, const char *kernel, uint64_t source, const char *parameters);

/* Scores a candidate, to choose which ones to try first; only measurements decide which is fastest. Returns a score from 0
 * to 1, higher for candidates that should be faster on this problem; 0 if the kernel does not declare its block tile.
 * Scores are comparable for one kernel, and roughly between kernels. Deterministic (candidate_score.c). */
double lab_candidate_score(const rung_kernel *kernel, const char *parameters, lab_type_pair product, lab_shape size,
                           const rung_device_info *device);

/* Creates the plan that the library chooses without a kernel or parameters. */
rung_status lab_default_plan_create(rung_device *device, const rung_problem *problem, rung_plan **plan);

/* Returns the kernel of a trial; NULL if the trial is of another kernel or of an older source of it. */
const lab_search_kernel *lab_search_find_kernel(const lab_search *search, const lab_trial *trial);
