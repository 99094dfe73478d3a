/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.h - whether a result is right: a bound on every element, no tolerance.
 *
 * An element is right if it differs from the exact one by no more than rounding
 * in the compute type can explain, whatever the order of the sum:
 *
 *     |C - ref| <= gamma(k+3) * (|alpha| |A| |B| + |beta| |C0|) + (k+3) * tiny
 *
 * with gamma(n) = n u / (1 - n u), u the unit roundoff and tiny the smallest
 * denormal. The comparison is written so that NaN fails it. Where the reference
 * is NaN or infinite the element must be just that; where it lies within the bound
 * of the largest number, the infinity of its sign is right too. Inputs whose every
 * partial sum is a whole number the type can hold must come out to the last bit.
 */
#ifndef LAB_ORACLE_H
#define LAB_ORACLE_H

#include <stdbool.h>

#include "rung/rung.h"

typedef struct lab_verdict {
    bool    right;
    int64_t row, col; /* the first wrong element */
    double  got, expected, bound;
} lab_verdict;

/* The value of an element of a view with data, as a double. */
double lab_element(const rung_matrix *matrix, int64_t row, int64_t col);
void   lab_element_set(const rung_matrix *matrix, int64_t row, int64_t col, double value);

/* Whether the oracle can judge this type, and a sum of k products in it: past 1/u
 * of them rounding can explain anything. */
bool lab_oracle_takes(rung_type type);
bool lab_oracle_takes_k(rung_type type, int64_t k);

/* Judges problem->c, the result, against A, B and C0, the C of before; all with
 * data. `exact` asks for every bit. */
lab_verdict lab_oracle_judge(const rung_problem *problem, const rung_matrix *c0, bool exact);

#endif /* LAB_ORACLE_H */
