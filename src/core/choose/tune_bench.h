/* SPDX-License-Identifier: Apache-2.0 */
/* tune_bench.h - a problem with its own operands, on which rung_tune() verifies and times plans. */
#pragma once

#include "core/plan_types.h"
#include "core/problem.h"

/* The elements of C that are verified: rows and columns at equal steps up to the last, in some items of the batch. */
typedef struct rungi_tune_sample {
    int64_t items, item_step;
    int64_t rows, first_row, row_step;
    int64_t cols, first_col, col_step;
} rungi_tune_sample;

typedef struct rungi_tune_bench {
    rung_device *device;
    rung_queue *queue;
    rung_event *event;
    rung_problem problem; /* normalized; its views are in these buffers */
    rung_buffer *buffers[RUNGI_OPERAND_COUNT];
    rung_buffer *workspace; /* of the largest plan so far, or NULL */
    char *memory;           /* host memory, as large as the largest operand */
    int64_t c_bytes;
    rungi_tune_sample sample;
    char *expected; /* the result of the simplest kernel for the sample, dense, in C's type */
    double flops;   /* of one run */
} rungi_tune_bench;

/* Allocates operands of the problem's form, fills them, and computes the expected sample. The problem was
 * checked and is not empty. rungi_tune_bench_destroy() frees a bench, also one whose creation failed. */
rung_status rungi_tune_bench_create(rung_device *device, const rung_problem *problem, rungi_tune_bench *bench);
void rungi_tune_bench_destroy(rungi_tune_bench *bench);

/* Runs the plan once and compares its result with the expected one. `nanoseconds` is the time of the run. */
rung_status rungi_tune_verify(rungi_tune_bench *bench, rung_plan *plan, bool *is_right, int64_t *nanoseconds);

/* Returns the shortest time of several runs of a verified plan. */
rung_status rungi_tune_time(rungi_tune_bench *bench, rung_plan *plan, int64_t *nanoseconds);

/* Estimates the time of a run from a run on a block of C. Returns 0 if the problem is small enough to run it. */
rung_status rungi_tune_estimate(rungi_tune_bench *bench, const rung_kernel *kernel, const char *parameters,
                                double *nanoseconds);
