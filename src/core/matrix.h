/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.h - what the library asks of a view beyond the public calls. */
#ifndef RUNGI_MATRIX_H
#define RUNGI_MATRIX_H

#include <stdbool.h>

#include "rung/rung.h"

/* Inlined rung_type_size(). A check asks for it a dozen times per call. */
static inline int64_t rungi_type_size(rung_type type)
{
    switch (type) {
    case RUNG_F64: return 8;
    case RUNG_F32:
    case RUNG_I32: return 4;
    case RUNG_F16:
    case RUNG_BF16: return 2;
    case RUNG_I8:
    case RUNG_U8:
    case RUNG_F8E4M3:
    case RUNG_F8E5M2:
    case RUNG_E8M0: return 1;
    case RUNG_TYPE_NONE:
    case RUNG_I4:
    case RUNG_U4:
    case RUNG_F4E2M1:
    case RUNG_Q8_0:
    case RUNG_Q4_0: break;
    }
    return 0;
}

/* Returns whether kernels of this version multiply the type. */
static inline bool rungi_type_is_implemented(rung_type type)
{
    return type >= RUNG_F32 && type <= RUNG_I32;
}

/* Elements from the first of the view to one past its last, gaps included; 0 for
 * a view of none. False if it, or its bytes with the offset, overflow. */
bool rungi_matrix_span(const rung_matrix *matrix, int64_t *elements);

static inline bool rungi_matrix_is_empty(const rung_matrix *matrix)
{
    return matrix->rows == 0 || matrix->cols == 0;
}

/* Returns whether an optional view was left at its default, all zero. */
static inline bool rungi_matrix_is_absent(const rung_matrix *matrix)
{
    return matrix->type == RUNG_TYPE_NONE && matrix->rows == 0 && matrix->cols == 0 && !matrix->data && !matrix->buffer;
}

/* Elements from the view's offset to where an item of a batch begins. */
static inline int64_t rungi_matrix_item_offset(const rung_matrix *matrix, int64_t item)
{
    return matrix->batch_offsets ? matrix->batch_offsets[item] : item * matrix->batch_stride;
}

/* That item as a view of its own. */
static inline rung_matrix rungi_matrix_item(const rung_matrix *matrix, int64_t item)
{
    rung_matrix view = *matrix;
    view.offset += rungi_matrix_item_offset(matrix, item);
    view.batch_stride = 0;
    view.batch_offsets = NULL;
    return view;
}

/* Whether every item of a batch is the same one. */
static inline bool rungi_matrix_is_shared(const rung_matrix *matrix)
{
    return !matrix->batch_offsets && matrix->batch_stride == 0;
}

/* The same as rungi_matrix_span for all items of a batch together, from the view's
 * offset on; batch_offsets are read. */
bool rungi_matrix_batch_span(const rung_matrix *matrix, int64_t batch, int64_t *elements);

/* The address of element (0, 0) of a view with data. */
void *rungi_matrix_first(const rung_matrix *matrix);

/* Whether element (0, 0) of every item stands at a multiple of so many elements; a view of
 * nothing, or of no memory yet, by its offset alone. */
bool rungi_matrix_is_aligned(const rung_matrix *matrix, int64_t batch, int64_t elements);

/* The same matrix stored with no gaps, in the order in which it already stands
 * and with its repeated rows or columns kept once: what is worth copying to a
 * device. `elements` is its length; false if that overflows. */
bool rungi_matrix_dense(const rung_matrix *matrix, rung_matrix *dense, int64_t *elements);

/* Whether the view already stands as rungi_matrix_dense would store it. */
bool rungi_matrix_is_dense(const rung_matrix *matrix);

/* Copies the elements of one view over those of another of the same type and
 * shape, one item; rows or columns that both repeat are copied once. */
void rungi_matrix_copy(const rung_matrix *from, const rung_matrix *to);

#endif /* RUNGI_MATRIX_H */
