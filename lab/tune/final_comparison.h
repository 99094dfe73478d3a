/* SPDX-License-Identifier: Apache-2.0 */
/* final_comparison.h - times the best candidates of a search and the library's defaults with interleaved samples, so that
 * disturbances affect all of them. A candidate wins if a sign test shows that it is faster than the defaults and than
 * the store's record, and if its results are correct on problems around its tile sizes. */
#pragma once

#include "tune/search.h"

enum { LAB_FINAL_CANDIDATES = 4 };

/* A candidate with its times. */
typedef struct lab_finalist {
    char kernel[64], parameters[LAB_PARAMETERS_BYTES];
    double gflops;
    int64_t median_ns, ci95_ns;
} lab_finalist;

typedef struct lab_final_comparison {
    bool decided;          /* the time sufficed and the defaults could be timed */
    bool improved;         /* the winner is neither the defaults nor the store's record */
    bool is_record_best;   /* the winner is the store's record */
    bool record_is_slower; /* the defaults are faster than the record, by the same test */
    bool record_is_wrong;  /* the record gives wrong results */
    double record_ratio;   /* time of the defaults / time of the record; 0: not timed */
    lab_finalist winner, defaults;
    lab_finalist challenger;        /* the fastest candidate other than the defaults, even if slower */
    double ratio, challenger_ratio; /* time of the defaults / time of the winner or challenger; 0: none */
    int64_t rounds, wins;           /* wins: rounds in which the winner was faster than the defaults */
    char why[256];                  /* explanation, or "" */
} lab_final_comparison;

/* Returns when the final comparison must begin to end in time, from the times of the best candidates. It gets at most two
 * fifths of the time. */
int64_t lab_final_comparison_start_ns(const lab_search *search);

/* Samples until `end_ns`, or slightly longer if a decision needs it. The number of candidates depends on the time;
 * without time for one of them nothing is decided. */
void lab_final_comparison_run(lab_search *search, int64_t end_ns, lab_final_comparison *finals);

/* Returns the probability of at least `heads` heads in `throws` throws of a fair coin. */
double lab_sign_test_p(int64_t heads, int64_t throws);
