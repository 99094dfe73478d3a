/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - a caller's problem as this version reads it, checked. */
#ifndef RUNGI_OUTOFCORE_TASK_H
#define RUNGI_OUTOFCORE_TASK_H

#include "outofcore/stored.h"

/* rung_outofcore_problem with values for pointers: a matrix that is absent has no file and no memory. Inside this library,
 * `c0` is the caller's C, which beta scales, and `c` is the result: the caller's D or C, or a file at `path`, of which only
 * the type counts. */
typedef struct rungi_task {
    double alpha, beta;
    rungi_stored a, b, c0, c;
    const char *result; /* the caller's name of `c`, for sentences: "C" or "D" */
    rung_compute compute;
    const char *path;
    bool bare; /* the file at `path` has no header */
} rungi_task;

/* Reads a caller's problem and checks everything that needs no device. The task borrows files, memory and the path. */
rung_status rungi_task_read(const rung_outofcore_problem *problem, rungi_task *task);

/* Returns the type of the sums of A * B, which C's block has. */
rung_type rungi_task_sum_type(const rungi_task *task);

#endif /* RUNGI_OUTOFCORE_TASK_H */
