/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.h - whether a result is right: a bound on every element, no tolerance.
 *
 * An element is right if it differs from the exact one by no more than rounding
 * in the type of sums can explain, whatever the order of the sum:
 *
 *     |C - ref| <= gamma(k+3) * (|alpha| |A| |B| + |beta| |C0|) + (k+3) * tiny
 *
 * with gamma(n) = n u / (1 - n u), u the unit roundoff and tiny the smallest
 * denormal. To that come, each where it applies:
 *
 *   a compute mode  what it leaves out of the products, as rung.h lists it
 *   an engine       3 k for k, where it sums 16-bit inputs or tf32
 *   BF16            what lies below 2^-126, of the inputs and of the sums
 *   bias            one more step, and its size among the others
 *   relu            nothing: it brings no two numbers further apart
 *   gelu            1.13 times what came before, its steepest slope, and 24 u |v| for
 *                   its own rounding (erf to 16 units in the last place, and 8 for the
 *                   rest and for the reference)
 *   gelu_tanh       1.13 times what came before, and 24 u |v|
 *   silu            1.1 times what came before, and 24 u |v|: see activate() of oracle.c
 *   residual        one rounding of the sum
 *   a narrower C    one rounding to C's type
 *
 * The comparison is written so that NaN fails it. Where the reference is NaN or
 * infinite the element must be just that; where it lies within the bound of the largest
 * number, the infinity of its sign is right too. Inputs whose every partial sum is a
 * whole number the types can hold must come out to the last bit. Sums of F64 are
 * referred to a sum in two doubles, others to one in double; whole numbers to the exact
 * sum modulo 2^32.
 */
#ifndef LAB_ORACLE_H
#define LAB_ORACLE_H

#include <stdbool.h>

#include "product.h"
#include "rung/rung.h"

typedef struct lab_verdict {
    bool right;
    int64_t item, row, col; /* the first wrong element */
    double got, expected, bound;
} lab_verdict;

/* The value of an element of a view with data, as a double; and the same for an item of a
 * batch. */
double lab_element(const rung_matrix *matrix, int64_t row, int64_t col);
void lab_element_set(const rung_matrix *matrix, int64_t row, int64_t col, double value);

/* An item of a batch as a view of its own. */
rung_matrix lab_item(const rung_matrix *matrix, int64_t item);

/* Whether a type holds whole numbers; and the whole numbers up to which a type holds all,
 * as a power of two. */
bool lab_is_whole(rung_type type);
double lab_whole_limit(rung_type type);

/* Whether a sum of k products can be judged: past 1/u of them rounding can explain
 * anything. */
bool lab_oracle_takes_k(lab_product product, int64_t k);

/* How strictly: to the last bit, or, where a GPU's matrix engine may have summed, with what
 * it cuts off (see rung_compute). */
typedef enum lab_rigour { LAB_BOUNDED, LAB_EXACT, LAB_ON_ENGINE } lab_rigour;

/* Judges problem->c, the result, against A, B and C0, the C of before; all with data. */
lab_verdict lab_oracle_judge(const rung_problem *problem, const rung_matrix *c0, lab_rigour rigour);

#endif /* LAB_ORACLE_H */
