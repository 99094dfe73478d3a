/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_problem.h - the internal, checked copy of a caller's rung_outofcore_problem. */
#pragma once

#include "outofcore/outofcore_matrix.h"

/* rung_outofcore_problem with matrices instead of pointers; an absent matrix has neither a file nor memory. Inside this
 * library, `c0` is the caller's C, which beta scales, and `c` is the result: the caller's D or C, or a file at `path`, of
 * which only the type is used. */
typedef struct rungi_outofcore_problem {
    double alpha, beta;
    rung_outofcore_matrix a, b, c0, c;
    const char *result_name; /* the caller's name of `c` in error messages: "C" or "D" */
    rung_compute compute;
    const char *path;
    bool is_raw;     /* the file at `path` has no header */
    bool is_checked; /* rung_outofcore_options.checked */
} rungi_outofcore_problem;

/* Reads a caller's problem and checks everything that needs no device. The result borrows files, memory
 * and the path. */
rung_status rungi_outofcore_problem_read(const rung_outofcore_problem *caller, rungi_outofcore_problem *problem);

/* Returns the accumulator type of A * B, which is the type of a block of C. */
rung_type rungi_outofcore_problem_accumulator(const rungi_outofcore_problem *problem);
