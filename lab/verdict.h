/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - whether one of two series of times is slower than the other: paired differences, ranks
 * instead of means, and a correction for how many questions are asked at once.
 *
 * Times are compared as logarithms of ratios. Ranks ask nothing of the distribution but that it is
 * symmetric where nothing has changed, and a pair was measured next to each other, so that what both
 * felt is no difference. */
#ifndef LAB_VERDICT_H
#define LAB_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum { LAB_PAIRS_MAX = 200 };

/* A difference counts if it is unlikely to be chance, after Holm's correction, and worth telling. */
#define LAB_VERDICT_P     0.01
#define LAB_VERDICT_SHIFT 0.02

#define LAB_JUDGEMENT_LIST(X) X(SAME, "same") X(SLOWER, "slower") X(FASTER, "faster")

typedef enum lab_judgement {
#define X(name, word) LAB_##name,
    LAB_JUDGEMENT_LIST(X)
#undef X
    LAB_JUDGEMENT_COUNT
} lab_judgement;

const char *lab_judgement_name(lab_judgement judgement);

/* Wilcoxon's signed-rank test, two-sided: how likely are ranks as uneven as these if differences are
 * as often above 0 as below? Zeros are left out, ties share their ranks, and the distribution is
 * computed, not approximated. 1 of none. At most LAB_PAIRS_MAX. */
double lab_signed_rank(const double *differences, int64_t count);

/* Hodges and Lehmann's estimate of the difference: the median of all means of two. */
double lab_hodges_lehmann(const double *differences, int64_t count);

/* Holm's correction: of so many questions, the chance of any wrong answer. In place. */
void lab_holm(double *p, int64_t count);

/* The least p that so many pairs can come to: with few, nothing can be told. */
double lab_least_p(int64_t count);

/* `shift` is new over old less one. */
lab_judgement lab_judge(double p, double shift);

#endif /* LAB_VERDICT_H */
