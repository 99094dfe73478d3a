/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - two results of rung bench beside each other: which rows are of the same thing, and
 * what their times say. */
#ifndef LAB_COMPARISON_H
#define LAB_COMPARISON_H

#include <stdio.h>

#include "results.h"
#include "verdict.h"

/* Two rows of the same kernel and problem. Without times on both sides, or without series, there is no
 * verdict and `why_not` says so. */
typedef struct lab_pair {
    const lab_result *before, *after;
    int64_t           pairs;  /* of rounds */
    double            shift;  /* new over old less one, by Hodges and Lehmann */
    double            p;      /* by Wilcoxon, after Holm */
    lab_judgement     judgement;
    const char       *why_not, *note; /* "" where there is none */
} lab_pair;

typedef struct lab_comparison {
    bool               interleaved; /* the two took turns */
    lab_pair          *pairs;
    int64_t            count, slower, faster;
    const lab_result **only_before, **only_after; /* rows that the other has not */
    int64_t            only_before_count, only_after_count;
} lab_comparison;

/* Refers to both results. False without memory; nothing is to be freed then. */
bool lab_comparison_make(const lab_results *before, const lab_results *after, lab_comparison *comparison);
void lab_comparison_free(lab_comparison *comparison);

void lab_comparison_print(const lab_comparison *comparison, FILE *out);
void lab_comparison_print_json(const lab_comparison *comparison, FILE *out);

/* LAB_SLOWED if anything is slower; LAB_NOTHING if nothing could be compared. */
int lab_comparison_code(const lab_comparison *comparison);

#endif /* LAB_COMPARISON_H */
