/* SPDX-License-Identifier: Apache-2.0 */
/* freivalds.h - checks large products exactly, in less time than computing them.
 *
 * With small integers in A and B every sum is exact, so every bit of C must be correct. Freivalds' test multiplies both
 * sides by a random vector x and compares A (B x) with C x in 64-bit integers. A wrong C passes one round with a
 * probability of at most 2^-16. A few random rows are also computed completely. If the type of C is too narrow, B is
 * quantized or an epilogue follows the sum, random rows and columns are checked against the error bound instead (see
 * oracle.h). */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"

/* Fills the items of a batch with integers from -4 to 4, which are rounded if the matrix is quantized. */
void lab_fill_small_integers(const rung_matrix *matrix, int64_t batch, uint64_t seed, uint64_t stream);

/* Returns whether C is correct, for alpha = 1, beta = 0, operands in host memory filled by lab_fill_small_integers(),
 * and k up to 2^20. Otherwise writes the reason to `error`. */
bool lab_freivalds_check(const rung_problem *problem, uint64_t seed, char *error, size_t capacity);
