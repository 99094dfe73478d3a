/* SPDX-License-Identifier: Apache-2.0 */
/* elements.h - reads and writes single matrix elements of every type as doubles, and splits a batch into items. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rung/rung.h"

/* Returns the element at (row, col) of a matrix with data, converted to double. Every type of the library converts
 * exactly. */
double lab_element_get(const rung_matrix *matrix, int64_t row, int64_t col);

/* Rounds `value` to the type of the matrix and stores it. Integer types store NaN as -1. */
void lab_element_set(const rung_matrix *matrix, int64_t row, int64_t col, double value);

/* Returns item `item` of a batch as a matrix of its own. */
rung_matrix lab_batch_item(const rung_matrix *matrix, int64_t item);

/* Reports whether the elements of a type are integers. */
bool lab_type_is_integer(rung_type type);

/* Reports whether the type is an 8-bit floating-point type. */
bool lab_type_is_f8(rung_type type);

/* Returns the power of two up to which a type represents every integer. */
double lab_type_exact_integer_max(rung_type type);
