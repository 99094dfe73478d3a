/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - what the PTX manual says that an instruction returns.
 *
 * reference_integer.c computes with 128-bit integers, reference_float.c and reference_convert.c with MPFR. None of them
 * uses code of the emulator. */
#pragma once

#include "combinations.h"

/* How a result may differ from the expected bits. */
typedef enum tolerance {
    EXACT,
    ANY_NAN,     /* the manual does not say which NaN */
    ANY_VALUE,   /* undefined for these operands */
    ANY_ZERO,    /* of either sign */
    WITHIN_BOUND /* |result - value| <= bound */
} tolerance_t;

typedef struct expected {
    uint64_t bits[RESULTS_MAX]; /* destinations in the order of the text, then the carry */
    tolerance_t tolerance[RESULTS_MAX];
    uint64_t other; /* accepted too, if has_other: where the manual allows two results */
    bool has_other;
    double value[2], bound[2]; /* of WITHIN_BOUND, per element of a pair */
} expected_t;

/* Computes the results for the sources, in the order of the text, and then the carry. */
typedef void (*reference_fn)(const combination_t *combination, const uint64_t *sources, expected_t *expected);

/* Returns the reference of a combination, or NULL. */
reference_fn reference_integer(const combination_t *combination);
reference_fn reference_compare(const combination_t *combination);
reference_fn reference_float(const combination_t *combination);
reference_fn reference_convert(const combination_t *combination);

/* ---- Shared by the reference files -------------------------------------------------------------------------------- */

__extension__ typedef __int128 wide_t;
__extension__ typedef unsigned __int128 uint128_t;

/* Returns an operand as an integer of its type. */
wide_t integer_of(uint64_t bits, const type_t *type);

static inline uint64_t low_bits(uint64_t value, int bits)
{
    return bits >= 64 ? value : value & (((uint64_t)1 << bits) - 1);
}

typedef enum direction { NEAREST, TO_ZERO, DOWN, UP, NEAREST_AWAY } direction_t;

/* Returns the rounding of slot "rnd": rn, rni, none are NEAREST. */
direction_t rounding_of(const combination_t *combination);
