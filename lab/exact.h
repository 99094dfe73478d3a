/* SPDX-License-Identifier: Apache-2.0 */
/* exact.h - large problems judged exactly, in less time than they take to compute.
 *
 * With small whole numbers in A and B every sum is exact in the type, so C = A B to
 * the last bit or it is wrong. Freivalds' test multiplies both sides by a random
 * vector: A (B x) and C x, in 64-bit integers, at the price of a few passes over the
 * matrices. A wrong C passes one round with probability 1/2^16 at most; rows drawn
 * at random are computed in full besides. Where C's type is too narrow for that, or
 * something follows the sum, rows drawn at random are held to the oracle's bound. */
#ifndef LAB_EXACT_H
#define LAB_EXACT_H

#include <stdbool.h>

#include "rung/rung.h"

/* Fills the items of a dense batch with whole numbers from -4 to 4. */
void lab_exact_fill(const rung_matrix *matrix, int64_t batch, uint64_t seed, uint64_t stream);

/* Whether C is right, for alpha = 1, beta = 0 and operands in memory filled like that; k
 * up to 2^20. `why` gets a sentence where it is not. */
bool lab_exact_judge(const rung_problem *problem, uint64_t seed, char *why, size_t capacity);

#endif /* LAB_EXACT_H */
