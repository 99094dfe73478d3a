/* SPDX-License-Identifier: Apache-2.0 */
/* bench_merge.h - merges the results of several runs of rung bench into one document (see repeated_runs.h). */
#ifndef LAB_BENCH_MERGE_H
#define LAB_BENCH_MERGE_H

#include <stdio.h>

#include "io/bench_results.h"

enum { LAB_BENCH_RUNS_MAX = 1000 };

typedef struct lab_bench_merge {
    const lab_results *runs;     /* one per run */
    const lab_results *partners; /* the interleaved runs, or NULL */
    int count;                   /* of both, at most LAB_BENCH_RUNS_MAX */
    bool is_old;                 /* `runs` are those of --baseline, `partners` the new ones */
    bool is_complete;            /* no run is missing */
} lab_bench_merge;

/* Writes the merged document as JSON. A row that was wrong or implausible in any run is so in the result, and has no
 * time. Otherwise its numbers are those of the runs that have a time, and its other fields those of the first of them. */
void lab_bench_merge_write(const lab_bench_merge *merge, FILE *out);

#endif /* LAB_BENCH_MERGE_H */
