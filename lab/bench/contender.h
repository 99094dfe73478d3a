/* SPDX-License-Identifier: Apache-2.0 */
/* contender.h - verifies and times one kernel, with given parameters, on one problem.
 *
 * The caller interleaves the samples of several contenders. rung_gemm is a contender too: its times are those of whole
 * calls on matrices in host memory. */
#pragma once

#include "bench/bench_result.h"

/* The caller sets the members before `plan` (lab_contender_init) and zeroes the rest. */
typedef struct lab_contender {
    const rung_kernel *kernel;                       /* NULL: rung_gemm */
    char requested_parameters[LAB_PARAMETERS_BYTES]; /* as given */
    bool computes_q8;                                /* runs in mode q8, whatever mode the problem requests */
    lab_bench_row row;                               /* is_packed: pack B before the runs; the rest is the result */
    rung_plan *plan;
    rung_buffer *workspace, *packed;
    int64_t verified_run_ns; /* time of the run that was verified, or of the calibration after it */
    int64_t spent_ns;
    lab_samples taken;
} lab_contender;

/* Zeroes a contender and sets what it runs. */
void lab_contender_init(lab_contender *contender, const rung_kernel *kernel, const char *parameters);

/* Marks the contender's row as not verified, with a state other than LAB_ROW_OK and a formatted reason. */
void lab_contender_reject(lab_contender *contender, lab_row_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Creates the plan, runs it once to compile and load it, and once to verify the result. */
void lab_contender_verify(const lab_bench_problem *problem, lab_contender *contender);

/* Verifies the results on the first, the middle and the last cold copy, which must contain the integers of the
 * verification. */
void lab_contender_verify_copies(const lab_bench_problem *problem, lab_contender *contender);

/* Takes one more sample. */
rung_status lab_contender_sample(const lab_bench_problem *problem, lab_contender *contender);

/* Computes the statistics of the samples. `best_probe` is the best result of a probe that has modes, else 0. */
void lab_contender_summarise(lab_contender *contender, double best_probe);

/* Reports whether more samples would improve the median: until there are five, in the fast mode if there are modes, and
 * until the confidence interval is within 1 % of the median or the budget is spent. */
bool lab_contender_needs_samples(const lab_contender *contender, double best_probe, int64_t budget_ns);

/* Times the batch as one call and as one call per item, from the first submission to the end of the last. Stores medians of
 * several interleaved measurements. */
rung_status lab_contender_time_calls(const lab_bench_problem *problem, lab_contender *contender);

/* Releases the plan and its buffers; the measurements remain. */
void lab_contender_release(lab_contender *contender);
