/* SPDX-License-Identifier: Apache-2.0 */
/* soak_totals.h - what was compared so far, in a file from which the next run continues. */
#pragma once

#include "soak_run.h"

enum { SOAK_ROWS_MAX = 2048, SOAK_FAILURES_MAX = 200 };

/* The problems of a device with one combination of types. */
typedef struct soak_row {
    char device[32], types[32];
    int64_t problems, refused, wrong;
    double seconds;
} soak_row;

typedef struct soak_totals {
    uint64_t first, next; /* seeds */
    soak_row rows[SOAK_ROWS_MAX];
    int row_count;
    uint64_t failures[SOAK_FAILURES_MAX]; /* seeds */
    int failure_count;
} soak_totals;

/* Reads the file; a missing file means that nothing was compared and that the next seed is `first`. Returns false and prints why if
 * the file has another form. */
bool soak_totals_read(const char *path, uint64_t first, soak_totals *totals);

/* Replaces the file. Returns false and prints why if that fails. */
bool soak_totals_write(const char *path, const soak_totals *totals);

void soak_totals_add(soak_totals *totals, const soak_case *subject, const soak_result *result);

/* Records the seed of a case that failed. */
void soak_totals_add_failure(soak_totals *totals, uint64_t seed);
