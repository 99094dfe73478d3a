/* SPDX-License-Identifier: Apache-2.0 */
/* soak_check.h - compares results with the oracle of `rung verify`. */
#pragma once

#include "soak_data.h"
#include "verify/oracle.h"

/* Returns whether every element of the result lies within its documented error bound, and is exact where sums of small integers are.
 * Writes what is wrong. */
bool soak_result_is_right(const soak_case *subject, const soak_data *data, lab_accuracy accuracy, char *message,
                          size_t capacity);
