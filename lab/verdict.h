/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - decides whether new times are slower or faster than old ones, or whether that cannot be told.
 *
 * The unit of analysis is one run, a process of its own. Samples of one run share that process's memory
 * layout, processor and minute, so that their spread says nothing about how far the next run lies. A run
 * therefore counts as one number, the logarithm of its time, and the spread between runs is estimated from
 * the runs themselves. With one run per side that spread is unknown and nothing is decided. */
#ifndef LAB_VERDICT_H
#define LAB_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

/* The chance that a comparison reports any difference where there is none, over all of its rows. */
#define LAB_VERDICT_P 0.01

/* A smaller change is not reported; "same" means that the whole interval lies within it. */
#define LAB_VERDICT_SHIFT 0.02

/* Runs (or pairs of runs) per side without which nothing is decided. */
enum { LAB_RUNS_MIN = 3 };

/* How far sessions of one executable on one machine may differ, as a logarithm: sides that were not
 * interleaved must differ by more. See results/compare. */
#define LAB_VERDICT_DRIFT 0.22314355131420976 /* log 1.25 */

#define LAB_JUDGEMENT_LIST(X) X(SAME, "same") X(SLOWER, "slower") X(FASTER, "faster") X(UNKNOWN, "cannot tell")

typedef enum lab_judgement {
#define X(name, word) LAB_##name,
    LAB_JUDGEMENT_LIST(X)
#undef X
        LAB_JUDGEMENT_COUNT
} lab_judgement;

const char *lab_judgement_name(lab_judgement judgement);

/* What the runs of one row say, and what follows. */
typedef struct lab_evidence {
    int64_t old_runs, new_runs; /* equal where they are paired */
    double old_log, new_log;    /* means of the logarithms of the times in nanoseconds */
    double error, freedom;      /* standard error of their difference, and its degrees of freedom */
    double run_sd;              /* between runs; where they are paired, between the ratios of pairs */
    double drift;               /* what the two sides may differ by without a cause, as a logarithm */
    /* Filled in by lab_decide. */
    double p;         /* after Holm's correction */
    double low, high; /* the interval of new over old less one */
    lab_judgement judgement;
} lab_evidence;

/* The evidence of runs that were interleaved in pairs: old[i] and new[i] are logarithms of times that were
 * measured next to each other. */
lab_evidence lab_evidence_of_pairs(const double *old, const double *new, int64_t count);

/* The evidence of runs that were not (Welch's test). */
lab_evidence lab_evidence_of_runs(const double *old, int64_t old_count, const double *new, int64_t new_count,
                                  double drift);

/* Decides all rows of one comparison. A row is slower or faster if its interval excludes no change and the
 * change exceeds LAB_VERDICT_SHIFT, the same if its interval lies within that, and unknown otherwise. The
 * interval of each row is at the level at which Holm's procedure tests the row. The procedure bounds the chance that any
 * row is wrongly reported as slower or faster by LAB_VERDICT_P; it does not make the intervals hold jointly. Times
 * have a resolution of 1 ns: runs that agree exactly are not certain. */
void lab_decide(lab_evidence *rows, int64_t count);

/* new over old less one. */
double lab_change(const lab_evidence *evidence);

/* One number per run from the interleaved rounds of a pair of runs, logarithms of times: the means of both
 * over the middle half of the rounds, by their ratio. The difference of the two is the trimmed mean of the
 * rounds' ratios: what slowed both is no difference, and a disturbed round is left out on both sides. At most
 * LAB_PAIRS_MAX rounds; false if there are none. */
enum { LAB_PAIRS_MAX = 200 };
bool lab_pair_of_rounds(const double *old, const double *new, int64_t count, double *old_mean, double *new_mean);

/* Student's distribution: the chance of |t| or more, and the t that is exceeded with this chance. */
double lab_student_tail(double t, double freedom);
double lab_student_quantile(double chance, double freedom);

/* Mean and standard deviation (n - 1); the latter 0 of fewer than two. */
double lab_mean(const double *numbers, int64_t count);
double lab_deviation(const double *numbers, int64_t count);

#endif /* LAB_VERDICT_H */
