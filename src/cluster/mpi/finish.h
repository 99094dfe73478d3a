/* SPDX-License-Identifier: Apache-2.0 */
/* finish.h - rectangles in memory: copied, added to, and C made of its sums. */
#ifndef RUNGI_FINISH_H
#define RUNGI_FINISH_H

#include "rung/rung.h"

/* Elements in memory; strides are in elements. */
typedef struct rungi_strided {
    char *data;
    int64_t row_stride, col_stride;
} rungi_strided;

/* The memory of a view from its element (row, col) on. */
rungi_strided rungi_strided_of(const rung_matrix *view, int64_t row, int64_t col);

/* Copies rows x cols elements of `size` bytes. */
void rungi_copy_rectangle(int64_t size, int64_t rows, int64_t cols, rungi_strided from, rungi_strided to);

/* C = alpha * sums + beta * C, in the type of the sums, rounded to C's at the end. Without sums (NULL data) alpha counts
 * as 0; with beta = 0 C is not read. */
void rungi_finish(rung_type sum, rung_type out, int64_t rows, int64_t cols, double alpha, rungi_strided sums,
                  double beta, rungi_strided c);

/* target += source, whole numbers modulo 2^32. */
void rungi_add_sums(rung_type sum, int64_t elements, const void *source, void *target);

#endif /* RUNGI_FINISH_H */
