/* SPDX-License-Identifier: Apache-2.0 */
/* exact.h - large problems judged exactly, in less time than they take to compute.
 *
 * With small whole numbers in A and B every sum is exact in the type, so C = A B to
 * the last bit or it is wrong. Freivalds' test multiplies both sides by a random
 * vector: A (B x) and C x, in 64-bit integers, at the price of a few passes over the
 * matrices. A wrong C passes one round with probability 1/2^16 at most; rows drawn
 * at random are computed in full besides. */
#ifndef LAB_EXACT_H
#define LAB_EXACT_H

#include <stdbool.h>

#include "rung/rung.h"

/* Fills a dense view with whole numbers from -4 to 4. */
void lab_exact_fill(const rung_matrix *matrix, uint64_t seed, uint64_t stream);

/* Whether c = a b, for dense views filled like that; k up to 2^20. `why` gets a
 * sentence where it is not. */
bool lab_exact_judge(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c, uint64_t seed,
                     char *why, size_t capacity);

#endif /* LAB_EXACT_H */
