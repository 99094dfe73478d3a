/* SPDX-License-Identifier: Apache-2.0 */
/* load_work.h - multiplications with mixed shapes and types whose results are known, for the load tests. Elements are small integers,
 * so that every result is exact. All functions may be called by many threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rung/rung.h"

enum { LOAD_SHAPES = 40, LOAD_SIZE_MAX = 96, LOAD_C_BYTES = LOAD_SIZE_MAX * LOAD_SIZE_MAX * 8 };

/* Creates the problems and their results. Call it once, before all else. */
void load_work_create(void);

/* Number of the multiplications so far, and of those with a wrong result or an error. */
int64_t load_done(void), load_wrong(void);

/* Multiplies problem `shape` in a context, by one call. `c` has LOAD_C_BYTES. Counts the result, and returns whether it is right. */
bool load_multiply(rung_context *context, int shape, void *c);

/* The same by a plan, and by a plan with a packed B. */
bool load_run_plan(rung_device *device, rung_queue *queue, int shape, bool is_packed, void *c);

/* Creates a context with threads of its own, multiplies in it, and destroys it. */
bool load_use_context(int shape, void *c);

/* Returns problem `shape` without memory for C. */
rung_problem load_problem(int shape, void *c);

/* Counts a result of another kind. */
bool load_count(bool is_right);
