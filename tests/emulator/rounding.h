/* SPDX-License-Identifier: Apache-2.0 */
/* rounding.h - correct rounding to any format, by MPFR. */
#pragma once

#include <stdint.h>
#define MPFR_USE_INTMAX_T
#include <mpfr.h>

#include "reference.h"

mpfr_rnd_t mpfr_mode(direction_t direction);

/* Returns a variable with the precision of a format, for the result of one MPFR function. */
mpfr_ptr rounded_variable(const format_t *format);

/* Completes the rounding of rounded_variable(format): its range and its subnormal numbers. `ternary` is what the MPFR
 * function returned. `is_tiny`, if not NULL, becomes true if the exact value is below the least normal number. */
double finish_rounding(const format_t *format, int ternary, direction_t direction, bool *is_tiny);

/* Rounds an exact value. */
double round_exact(mpfr_srcptr value, const format_t *format, direction_t direction);

/* Stores the bits of one element of the result: applies .sat, .relu and .ftz and counts which NaN is allowed. */
void store_element(const combination_t *combination, const type_t *type, int element, double value, bool is_tiny,
                   expected_t *expected);
