/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_epilogue.h - copies rectangles, adds partial sums, and computes C from its sums. */
#pragma once

#include "rung/rung.h"

/* Elements in memory; strides are in elements. */
typedef struct rungi_strided {
    char *data;
    int64_t row_stride, col_stride;
} rungi_strided;

/* Returns the elements of a view from (row, col) on. */
rungi_strided rungi_strided_of(const rung_matrix *view, int64_t row, int64_t col);

/* Copies rows x cols elements of `size` bytes. */
void rungi_copy_rectangle(int64_t size, int64_t rows, int64_t cols, rungi_strided from, rungi_strided to);

/* Computes C = alpha * sums + beta * C in the accumulator type and rounds to C's type. Without sums (NULL data), alpha counts
 * as 0. If beta is 0, C is not read. */
void rungi_cluster_epilogue_apply(rung_type sum, rung_type out, int64_t rows, int64_t cols, double alpha,
                                  rungi_strided sums, double beta, rungi_strided c);

/* Adds source to target; integers wrap modulo 2^32. */
void rungi_cluster_sums_add(rung_type sum, int64_t elements, const void *source, void *target);
