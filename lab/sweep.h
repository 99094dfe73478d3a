/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - several values an option: "TILE=16,32,PAD=0,1" and "128:2048:128". */
#ifndef LAB_SWEEP_H
#define LAB_SWEEP_H

#include <stdbool.h>

#include "rung/rung.h"

enum { LAB_SWEEP_MAX = 64, LAB_PARAMETERS_TEXT = RUNG_PARAMETERS_BYTES };

/* NULL, or what is wrong with a list of parameters: that it is too long to be one. May be given NULL. */
const char *lab_wrong_parameters(const char *text);

/* Writes every combination of the values that the kernel accepts, as texts. Parameters and presets that
 * the kernel does not have are left out; see lab_sweep_check(). A word without "=" is another value of
 * the parameter before it, or a preset. Returns the number of combinations; 0 if the kernel refuses all of
 * them, with the reason in rung_error_text(); -1 if the text is malformed or there are more than
 * LAB_SWEEP_MAX combinations. */
int lab_sweep_parameters(const rung_kernel *kernel, const char *text, char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_TEXT]);

/* Checks that each word of the text belongs to at least one of the kernels, and that each value is part of
 * a combination that at least one of them accepts. Otherwise returns false and writes the reason to `why`. */
bool lab_sweep_check(const rung_kernel *const *kernels, int count, const char *text, char *why, size_t capacity);

/* "256,512" or "lo:hi:step", or both mixed, as numbers above zero; -1 if it is none
 * of that or too many. */
int lab_sweep_sizes(const char *text, int64_t sizes[LAB_SWEEP_MAX]);

typedef struct lab_shape {
    int64_t m, n, k;
} lab_shape;

/* The same, each of them a square one, with "64x4096x512" for m x n x k among them. */
int lab_sweep_shapes(const char *text, lab_shape shapes[LAB_SWEEP_MAX]);

#endif /* LAB_SWEEP_H */
