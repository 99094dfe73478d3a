/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - options with several values: "TILE=16,32,PAD=0,1" and "128:2048:128". */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"

enum { LAB_SWEEP_MAX = 64, LAB_PARAMETERS_BYTES = RUNG_PARAMETERS_BYTES };

/* Returns an error text in static memory if a list of parameters is too long; otherwise, and for NULL, returns NULL. */
const char *lab_parameters_length_error(const char *text);

/* Writes every combination of the values that the kernel accepts, as texts. Parameters and presets that
 * the kernel does not have are left out; see lab_sweep_check(). A word without "=" is another value of
 * the parameter before it, or a preset. Returns the number of combinations; 0 if the kernel rejects all of
 * them, with the reason in rung_error_text(); -1 if the text is malformed or there are more than
 * LAB_SWEEP_MAX combinations. */
int lab_sweep_parameters(const rung_kernel *kernel, const char *text, char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES]);

/* Checks that each word of the text belongs to at least one of the kernels, and that each value is part of
 * a combination that at least one of them accepts. Otherwise returns false and writes the reason to `error`. */
bool lab_sweep_check(const rung_kernel *const *kernels, int count, const char *text, char *error, size_t capacity);

/* Parses a list of positive sizes and ranges, "256,512" or "128:1024:128". Returns the number of sizes, or -1 if the
 * list is invalid or too long. */
int lab_sweep_sizes(const char *text, int64_t sizes[LAB_SWEEP_MAX]);

typedef struct lab_shape {
    int64_t m, n, k;
} lab_shape;

/* The sizes as three arguments of a format such as "%lldx%lldx%lld". */
#define LAB_SHAPE_ARGUMENTS(shape) (long long)(shape).m, (long long)(shape).n, (long long)(shape).k

static inline bool lab_shape_equal(lab_shape x, lab_shape y)
{
    return x.m == y.m && x.n == y.n && x.k == y.k;
}

/* Parses a list of sizes, which are square, and shapes, "64x4096x512" for m x n x k. Returns the number or -1. */
int lab_sweep_shapes(const char *text, lab_shape shapes[LAB_SWEEP_MAX]);
