/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.h - what the library asks of a view beyond the public calls. */
#ifndef RUNGI_MATRIX_H
#define RUNGI_MATRIX_H

#include <stdbool.h>

#include "rung/rung.h"

/* Elements from the first of the view to one past its last, gaps included; 0 for
 * a view of none. False if it, or its bytes with the offset, overflow. */
bool rungi_matrix_span(const rung_matrix *matrix, int64_t *elements);

static inline bool rungi_matrix_is_empty(const rung_matrix *matrix)
{
    return matrix->rows == 0 || matrix->cols == 0;
}

/* The address of element (0, 0) of a view with data. */
void *rungi_matrix_first(const rung_matrix *matrix);

/* Whether element (0, 0) stands at a multiple of 16 bytes; a view of nothing, or of no
 * memory yet, by its offset alone. */
bool rungi_matrix_is_aligned(const rung_matrix *matrix);

/* The same matrix stored with no gaps, in the order in which it already stands
 * and with its repeated rows or columns kept once: what is worth copying to a
 * device. `elements` is its length; false if that overflows. */
bool rungi_matrix_dense(const rung_matrix *matrix, rung_matrix *dense, int64_t *elements);

/* Whether the view already stands as rungi_matrix_dense would store it. */
bool rungi_matrix_is_dense(const rung_matrix *matrix);

/* Copies the elements of one view over those of another of the same type and
 * shape; rows or columns that both repeat are copied once. */
void rungi_matrix_copy(const rung_matrix *from, const rung_matrix *to);

#endif /* RUNGI_MATRIX_H */
