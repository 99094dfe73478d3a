/* SPDX-License-Identifier: Apache-2.0 */
/* finals.h - the best few of a search and what the library takes by itself, timed in turn,
 * a sample each, so that what disturbs the machine disturbs them alike. A finalist wins if it
 * is faster than the defaults in so many rounds that chance does not explain it, so too than what
 * the store has for this problem, and if it is right on problems around its tiles. */
#ifndef LAB_FINALS_H
#define LAB_FINALS_H

#include "search.h"

enum { LAB_FINALISTS = 4 };

typedef struct lab_finals {
    bool decided;          /* there was time, and the defaults could be timed */
    bool improved;         /* the winner is neither the defaults nor what the store has */
    bool record_stays;     /* the winner is what the store has */
    bool record_is_slower; /* the defaults are faster than what the store has, by the same test as a winner */
    bool record_is_wrong;  /* what the store has gives wrong results */
    double record_ratio;   /* the defaults' time over that of the record; 0: it was not timed */
    char kernel[64], parameters[LAB_PARAMETERS_TEXT], default_kernel[64], default_parameters[LAB_PARAMETERS_TEXT];
    double gflops, default_gflops, ratio;
    int64_t median_ns, ci95_ns, default_median_ns, default_ci95_ns;
    /* The fastest finalist beside the defaults, however it compares. */
    char challenger[64], challenger_parameters[LAB_PARAMETERS_TEXT];
    double challenger_ratio; /* the defaults' time over its own, 0: there was none */
    int64_t rounds, wins;    /* in which the winner was faster than the defaults */
    char why[256];           /* what else there is to say */
} lab_finals;

/* When they must begin to be over by the end of the search's time, by what the best took so
 * far; at most two fifths of the time are theirs. */
int64_t lab_finals_start(const lab_search *search);

/* Samples until `end_ns`, and a little longer if a decision needs it. Of the finalists only so
 * many take part as there is time for; without time for one nothing is decided. */
void lab_finals_run(lab_search *search, int64_t end_ns, lab_finals *finals);

/* The probability that a fair coin gives so many heads, or more, in so many throws. */
double lab_chance(int64_t heads, int64_t throws);

#endif /* LAB_FINALS_H */
