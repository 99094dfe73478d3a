/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - the fastest kernel and parameters for one problem, within a time.
 *
 * What the library would take by itself is tried first, then every kernel's defaults, what was
 * best on other problems, presets, and then by turns what is next to the best so far and what
 * ranks highest (rank.h) of all that was not tried. Each candidate is verified before it is
 * timed. The best few and the defaults are then timed again in turn (finals.h), since a short
 * timing picks the luckiest of many.
 *
 * What to try next is a function of the journal, so that a search can be ended anywhere and
 * begun again by another process. */
#ifndef LAB_SEARCH_H
#define LAB_SEARCH_H

#include <stdatomic.h>

#include "journal.h"
#include "measure.h"
#include "space.h"
#include "target.h"

/* Shared with the process that watches this one. */
typedef struct lab_watch {
    _Atomic int64_t since_ns; /* when the candidate under way was begun; 0: none is */
    _Atomic int64_t late_ns;  /* when it should be over */
    lab_trial trial;          /* that candidate */
    int64_t steps;            /* candidates begun, by all processes */
} lab_watch;

/* Counted over all processes of a search. */
typedef struct lab_counts {
    int64_t tried, refused, wrong, crashed, pruned;
} lab_counts;

/* Where a candidate may start from, and what is expected of it. */
typedef struct lab_seed {
    lab_point point;
    double rank;
    bool done;
} lab_seed;

typedef struct lab_entrant {
    const rung_kernel *kernel;
    const char *name;
    uint64_t source;
    lab_space space;
    lab_seed *seeds; /* from the highest rank down */
    int64_t seed_count;
} lab_entrant;

typedef struct lab_search {
    lab_target *target;
    lab_journal *journal;
    lab_watch *watch;
    lab_counts *counts;
    const lab_problem *problem;
    lab_entrant entrants[LAB_KERNELS_MAX];
    int entrant_count;
    uint64_t seed;
    bool quiet;
    int64_t began_ns;         /* of all problems */
    int64_t start_ns, end_ns; /* of this one, finals and all */
    int64_t patience;         /* candidates that this process may still try */
    const rung_kernel *given; /* what the library takes with nothing given, NULL: nothing, ... */
    char given_parameters[LAB_PARAMETERS_TEXT];
    const rung_kernel *recorded; /* and what it takes by the store, NULL: there is nothing in it */
    char recorded_parameters[LAB_PARAMETERS_TEXT];
} lab_search;

/* Makes the entrants' spaces for the problem. False if there is no memory. */
bool lab_search_begin(lab_search *search, const rung_kernel *const *kernels, int count);
void lab_search_end(lab_search *search);

typedef enum lab_search_result { LAB_SEARCH_DONE, LAB_SEARCH_AGAIN, LAB_SEARCH_FAILED } lab_search_result;

/* Tries until the time is up or nothing is left; AGAIN if another process should go on, so
 * that what this one has compiled is let go; FAILED if the journal cannot be written. */
lab_search_result lab_search_run(lab_search *search);

/* The fastest of this problem so far, the first of them at `places[0]`, as indices of the
 * journal's trials. Returns how many there are, `capacity` at most. */
int lab_search_best(const lab_search *search, int64_t *places, int capacity);

/* The entrant of a trial; NULL if it is of another kernel or an older text of it. */
const lab_entrant *lab_search_entrant(const lab_search *search, const lab_trial *trial);

#endif /* LAB_SEARCH_H */
