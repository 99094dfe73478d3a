/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h - what every test program begins with: cmocka, which wants its headers in
 * this order, and an environment in which the caller's settings do not count. */
#ifndef RUNG_UNIT_H
#define RUNG_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rung/rung.h"

/* What CTest takes for "not here, not wrong". */
enum { UNIT_SKIPPED = 77 };

static inline void unit_clean_environment(void)
{
    unsetenv("RUNG_VERBOSE");
    unsetenv("RUNG_DEVICE");
    unsetenv("RUNG_OVERLAP");
    unsetenv("RUNG_THREADS");
    setenv("RUNG_TUNING", "off", 1);
}

/* Small numbers from a fixed seed: the same ones everywhere, so that a failure
 * comes back. Results lie in [0, limit). */
static inline int64_t unit_random(uint64_t *seed, int64_t limit)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*seed >> 33) % (uint64_t)limit);
}

/* Whole numbers from -4 to 4, so that sums of products are exact in any order. */
static inline void unit_fill(uint64_t *seed, float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(unit_random(seed, 9) - 4);
}

/* Where element (i, j) of an F32 view in memory stands. */
static inline float *unit_at(const rung_matrix *matrix, int64_t i, int64_t j)
{
    return (float *)matrix->data + matrix->offset + i * matrix->row_stride + j * matrix->col_stride;
}

/* The first index pair where C is not A * B, as i * cols + j; -1 if there is none. */
static inline int64_t unit_first_wrong(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c)
{
    for (int64_t i = 0; i < c->rows; i++) {
        for (int64_t j = 0; j < c->cols; j++) {
            float sum = 0;
            for (int64_t p = 0; p < a->cols; p++)
                sum += *unit_at(a, i, p) * *unit_at(b, p, j);
            if (!(*unit_at(c, i, j) == sum))
                return i * c->cols + j;
        }
    }
    return -1;
}

#endif /* RUNG_UNIT_H */
