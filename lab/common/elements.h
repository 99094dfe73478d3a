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

/* Most elements per block of any type of the library. */
enum { LAB_BLOCK_MAX = 256 };

/* Quantize `count` values to column `col` of a matrix whose blocks lie along its columns (row stride 1), and read them back. They
 * are whole blocks from `row` on. If the library does not convert them, all bytes of the blocks become 0xff, and all values that
 * are read NaN. */
void lab_blocks_set(const rung_matrix *matrix, int64_t row, int64_t col, int64_t count, const float *values);
void lab_blocks_get(const rung_matrix *matrix, int64_t row, int64_t col, int64_t count, float *values);

/* Fills a matrix of blocks along its columns with numbers of a random sequence. `index` is the next of the stream. */
void lab_fill_blocks(const rung_matrix *matrix, double (*value)(uint64_t seed, uint64_t stream, uint64_t index),
                     uint64_t seed, uint64_t stream, uint64_t *index);

/* Returns item `item` of a batch as a matrix of its own. */
rung_matrix lab_batch_item(const rung_matrix *matrix, int64_t item);

/* Reports whether the elements of a type are integers. */
bool lab_type_is_integer(rung_type type);

/* Reports whether elements of the type are stored in blocks with a scale, as Q8_0 is. */
bool lab_type_is_quantized(rung_type type);

/* Reports whether elements of the type may have scales that are stored separately: 8- and 4-bit types. */
bool lab_type_is_narrow(rung_type type);

/* Returns the bytes of `elements` elements; of whole blocks if the type has blocks. */
int64_t lab_type_bytes(rung_type type, int64_t elements);

/* Reports whether the type is an 8-bit floating-point type. */
bool lab_type_is_f8(rung_type type);

/* Returns the power of two up to which a type represents every integer. */
double lab_type_exact_integer_max(rung_type type);
