/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.h - checks every element of a result against a derived error bound, without a tolerance.
 *
 * An element is correct if rounding in the accumulator type explains its error, for any order of summation:
 *
 *     |C - ref| <= gamma(k+3) * (|alpha| |A| |B| + |beta| |C0|) + (k+3) * tiny
 *
 * with gamma(n) = n u / (1 - n u), the unit roundoff u and the smallest denormal tiny. The bound grows by
 *
 *   a compute mode  the error of the products, as listed in rung.h; in mode q8 with a quantized B, |A| is the largest
 *                   magnitude of each block of 32 elements
 *   an engine       3 k instead of k for sums of 16-bit inputs or tf32
 *   BF16            factors and sums below 2^-126, which may be flushed to 0
 *   bias            one more rounding step, and the magnitude of the bias
 *   relu            nothing, because relu does not increase a difference
 *   gelu            a factor of 1.13 (its largest slope), and 24 u |v| for its own rounding (erf to 16 units in the
 *                   last place, and 8 for the rest and for the reference)
 *   gelu_tanh       a factor of 1.13, and 24 u |v|
 *   silu            a factor of 1.1, and 24 u |v|; see activate_by_sigmoid() in oracle.c
 *   multiplier      a factor of its magnitude, and one rounding of the product
 *   residual        one rounding of the sum
 *   a narrower C    one rounding to the type of C
 *
 * NaN fails the comparison. If the reference is NaN or infinite, the element must be the same. If the reference is
 * within the bound of the largest finite number, infinity of the same sign is also correct. Inputs whose partial sums
 * are all exactly representable integers must give the exact result. The reference is a double-double sum for F64, a
 * sum in double for other floating-point types, and the exact sum modulo 2^32 for integers. */
#pragma once

#include <stdbool.h>

#include "common/elements.h"
#include "common/type_pair.h"
#include "rung/rung.h"

typedef struct lab_oracle_result {
    bool right;
    int64_t item, row, col; /* the first wrong element */
    double got, expected, bound;
} lab_oracle_result;

/* Returns whether results with this k can be checked. For more than about 1/u products the bound accepts anything. */
bool lab_oracle_can_check_k(lab_type_pair product, int64_t k);

/* How strictly to check: with the bound, to the last bit, or with the larger bound of matrix engines of GPUs, which
 * truncate (see rung_compute). */
typedef enum lab_accuracy { LAB_ACCURACY_BOUNDED, LAB_ACCURACY_EXACT, LAB_ACCURACY_ENGINE } lab_accuracy;

/* Checks the result problem->c against A, B and c0, the initial C, all in host memory. Returns the first wrong
 * element. */
lab_oracle_result lab_oracle_check(const rung_problem *problem, const rung_matrix *c0, lab_accuracy accuracy);
