/* SPDX-License-Identifier: Apache-2.0 */
/* contender.h - verifies and times one kernel, with given parameters, on one problem.
 *
 * The caller interleaves the samples of several contenders. rung_gemm is a contender too: its times are those of whole
 * calls on matrices in host memory. */
#ifndef LAB_CONTENDER_H
#define LAB_CONTENDER_H

#include "bench/bench_problem.h"
#include "bench/sample_statistics.h"
#include "io/row_state.h"
#include "target/sweep.h"

/* Members up to `is_packed` that are not marked otherwise are the caller's; the rest must be 0 at first. */
typedef struct lab_contender {
    const rung_kernel *kernel;                       /* NULL: rung_gemm */
    char requested_parameters[LAB_PARAMETERS_BYTES]; /* as given */
    bool is_packed;                                  /* pack B before the runs */
    /* The plan, set by lab_contender_verify(); see rung_plan_info. */
    char parameters[LAB_PARAMETERS_BYTES]; /* all of them */
    rung_origin origin;                    /* of the parameters */
    char origin_text[256];
    rung_plan *plan;
    rung_buffer *workspace, *packed;
    int64_t splits, threads;
    char library[512], warning[256];
    rung_compute compute;
    /* Verification. */
    bool verified;
    lab_row_state state;     /* LAB_ROW_OK if verified */
    char why_not[512];       /* if not verified */
    int64_t verified_run_ns; /* time of the run that was verified, or of the calibration after it */
    /* Samples. */
    int64_t spent_ns;
    int64_t repeats; /* runs per sample; a time is their mean */
    lab_samples taken;
    lab_speed_mode mode; /* of the numbers below: the fast mode if it has enough samples */
    int64_t samples, median_ns, min_ns, ci95_ns, worst_ns, outliers; /* see lab_sample_summary */
    lab_sample_summary fast, slow;                                   /* of each mode alone, if there are two */
    int64_t batch_wall_ns, calls_wall_ns;                            /* of lab_contender_time_calls() */
} lab_contender;

/* Marks the contender as not verified, with a state other than LAB_ROW_OK and a formatted reason. */
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

#endif /* LAB_CONTENDER_H */
