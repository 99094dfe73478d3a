/* SPDX-License-Identifier: Apache-2.0 */
/* significance.h - decides whether new times are slower or faster than old ones, the same, or undecidable.
 *
 * The unit of analysis is one run (one process). Samples of one run share the memory layout, the processor and the
 * moment, so their spread does not predict the next run. A run therefore counts as one number, the logarithm of its
 * time, and the spread between runs is estimated from the runs. With one run per side that spread is unknown and nothing
 * is decided. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/statistics.h"

/* Maximum probability that a comparison reports any false difference, over all of its rows. */
#define LAB_COMPARE_ALPHA 0.01

/* Smaller changes are not reported; "same" means that the whole interval is smaller. */
#define LAB_COMPARE_MIN_CHANGE 0.02

/* Minimum number of runs (or pairs of runs) per side for a decision. */
enum { LAB_COMPARE_RUNS_MIN = 3 };

/* Difference, as a logarithm, that sessions of one executable on one machine may show. Sides that were not interleaved
 * must differ by more. See results/compare. */
#define LAB_COMPARE_DRIFT_LOG 0.22314355131420976 /* log 1.25 */

#define LAB_CHANGE_CLASS_LIST(X) X(SAME, "same") X(SLOWER, "slower") X(FASTER, "faster") X(UNKNOWN, "cannot tell")

typedef enum lab_change_class {
#define X(name, word) LAB_CHANGE_##name,
    LAB_CHANGE_CLASS_LIST(X)
#undef X
        LAB_CHANGE_CLASS_COUNT
} lab_change_class;

const char *lab_change_class_name(lab_change_class change_class);

/* The estimated change of one row, and its class. */
typedef struct lab_change_estimate {
    int64_t old_runs, new_runs;       /* equal if paired */
    double old_log, new_log;          /* means of the logarithms of the times in nanoseconds */
    double error, degrees_of_freedom; /* standard error of the difference */
    double run_sd;                    /* between runs; if paired, between the ratios of pairs */
    double drift;                     /* difference between the sides that needs no cause, as a logarithm */
    /* Filled in by lab_change_estimates_classify. */
    double p;         /* after Holm's correction */
    double low, high; /* interval of new / old - 1 */
    lab_change_class change_class;
} lab_change_estimate;

/* Estimates the change from runs that were interleaved in pairs: old[i] and new[i] are logarithms of times measured next
 * to each other. */
lab_change_estimate lab_change_estimate_paired(const double *old, const double *new, int64_t count);

/* Estimates the change from runs that were not interleaved (Welch's test). */
lab_change_estimate lab_change_estimate_welch(const double *old, int64_t old_count, const double *new,
                                              int64_t new_count, double drift);

/* Classifies all rows of one comparison. A row is slower or faster if its interval excludes 0 and the change
 * exceeds LAB_COMPARE_MIN_CHANGE, the same if its interval lies within that, and unknown otherwise. The
 * interval of each row is at the level at which Holm's procedure tests the row. The procedure bounds the chance that any
 * row is wrongly reported as slower or faster by LAB_COMPARE_ALPHA; it does not make the intervals hold jointly. Times
 * have a resolution of 1 ns: runs that agree exactly are not certain. */
void lab_change_estimates_classify(lab_change_estimate *rows, int64_t count);

/* Returns new / old - 1. */
double lab_change_estimate_ratio(const lab_change_estimate *estimate);

/* Reduces the interleaved rounds of a pair of runs, given as logarithms of times, to one number per run: the means over
 * the middle half of the rounds, sorted by ratio. The difference of the two means is the trimmed mean of the ratios. A
 * disturbance of both runs cancels, and a disturbed round is dropped on both sides. Uses at most LAB_COMPARE_ROUNDS_MAX
 * rounds; returns false without rounds. */
enum { LAB_COMPARE_ROUNDS_MAX = 200 };
bool lab_rounds_trimmed_means(const double *old, const double *new, int64_t count, double *old_mean, double *new_mean);

/* Student's distribution: the probability of |t| or more, and the t that is exceeded with a probability. */
double lab_student_tail(double t, double degrees_of_freedom);
double lab_student_quantile(double probability, double degrees_of_freedom);
