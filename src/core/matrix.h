/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.h - sizes, addresses and copies of matrix views, for the library. */
#pragma once

#include <stdbool.h>

#include "base/checked_arithmetic.h"
#include "rung/rung.h"

/* Inlined rung_type_size(). The checks of one multiply call it a dozen times. */
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
    default: return 0; /* not a type, or elements that are stored in blocks */
    }
}

/* Returns whether elements and their scale are stored in blocks. Only B may have such a type. */
static inline bool rungi_type_has_scales(rung_type type)
{
    return type == RUNG_Q8_0 || type == RUNG_Q4_0;
}

/* Returns the number of bytes of `elements` elements, of which the first begins a block. */
static inline int64_t rungi_type_bytes(rung_type type, int64_t elements)
{
    int64_t size = rungi_type_size(type);
    if (size > 0 || elements == 0)
        return elements * size;
    return rungi_ceil_divide(elements, rung_type_block_elements(type)) * rung_type_block_bytes(type);
}

/* Returns the offset in bytes of an element, or of its block. */
static inline int64_t rungi_type_offset(rung_type type, int64_t element)
{
    int64_t size = rungi_type_size(type);
    if (size > 0 || element == 0)
        return element * size;
    return element / rung_type_block_elements(type) * rung_type_block_bytes(type);
}

/* Returns whether two elements share a byte. */
static inline bool rungi_type_is_4_bit(rung_type type)
{
    return type == RUNG_I4 || type == RUNG_U4 || type == RUNG_F4E2M1;
}

/* Returns an upper bound for the bytes of an element, with its part of a scale. */
static inline int64_t rungi_type_size_limit(rung_type type)
{
    return rungi_type_has_scales(type) ? 2 : rungi_type_is_4_bit(type) ? 1 : rungi_type_size(type);
}

/* Returns the alignment of a matrix in memory: the size of an element, or that of a scale. */
static inline int64_t rungi_type_alignment(rung_type type)
{
    return rungi_type_size_limit(type);
}

static inline bool rungi_type_is_f8(rung_type type)
{
    return type == RUNG_F8E4M3 || type == RUNG_F8E5M2;
}

/* Returns whether values of this type can be quantized, and whether a rung_quantization may describe elements of this type. */
static inline bool rungi_type_is_wide(rung_type type)
{
    return type == RUNG_F32 || type == RUNG_F64 || type == RUNG_F16 || type == RUNG_BF16;
}

static inline bool rungi_type_is_narrow(rung_type type)
{
    return type == RUNG_I8 || (type >= RUNG_U8 && type <= RUNG_F4E2M1);
}

/* Returns whether kernels of this version multiply matrices of this type with each other, or by a B with such blocks. */
static inline bool rungi_type_is_implemented(rung_type type)
{
    return (type >= RUNG_F32 && type <= RUNG_I32) || rungi_type_is_f8(type) || rungi_type_has_scales(type);
}

static inline bool rungi_type_is_integer(rung_type type)
{
    return type == RUNG_I8 || type == RUNG_I32;
}

/* Returns whether blocks of elements lie along the rows: each holds elements of one row. One stride of the view is 1. If both
 * are, the view is a row or a column of blocks, or empty, and the sizes decide. */
static inline bool rungi_blocks_lie_in_rows(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride)
{
    return col_stride == 1 && (row_stride != 1 || rows == 1 || cols == 0);
}

static inline bool rungi_matrix_has_blocks_in_rows(const rung_matrix *matrix)
{
    return rungi_blocks_lie_in_rows(matrix->rows, matrix->cols, matrix->row_stride, matrix->col_stride);
}

/* Checks a view whose elements are stored in blocks: they lie along the stride 1, and rows or columns begin with a whole
 * block. `name` begins a message. */
rung_status rungi_matrix_check_blocks(const char *name, const rung_matrix *matrix);

/* Computes the number of elements from the first of the view to the end of its last, including gaps; 0 for an empty
 * view. Returns false if the number, or the offset plus it in bytes, overflows. */
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

/* Compares two views of a batch, except for their memory. If the form is the same and x is valid, so is y. */
bool rungi_matrix_has_same_form(const rung_matrix *x, const rung_matrix *y, int64_t batch);

/* Returns the number of elements from the view's offset to the first element of an item of a batch. */
static inline int64_t rungi_matrix_item_offset(const rung_matrix *matrix, int64_t item)
{
    return matrix->batch_offsets ? matrix->batch_offsets[item] : item * matrix->batch_stride;
}

/* Returns a view of one item of a batch. */
static inline rung_matrix rungi_matrix_item(const rung_matrix *matrix, int64_t item)
{
    rung_matrix view = *matrix;
    view.offset += rungi_matrix_item_offset(matrix, item);
    view.batch_stride = 0;
    view.batch_offsets = NULL;
    return view;
}

/* Returns whether all items of a batch are the same elements. */
static inline bool rungi_matrix_is_batch_invariant(const rung_matrix *matrix)
{
    return !matrix->batch_offsets && matrix->batch_stride == 0;
}

/* Returns the bytes from the first byte of a view to the end of `span` elements. */
static inline int64_t rungi_matrix_span_bytes(const rung_matrix *matrix, int64_t span)
{
    bool has_half_byte = rungi_type_is_4_bit(matrix->type) &&
                         matrix->offset % 2 != 0; /* another element before the first */
    return rungi_type_bytes(matrix->type, span + has_half_byte);
}

/* Computes the same as rungi_matrix_span for all items of a batch together, from the view's offset. Reads the batch
 * offsets. */
bool rungi_matrix_batch_span(const rung_matrix *matrix, int64_t batch, int64_t *elements);

/* Returns the host address of element (0, 0). The view is not in a buffer. */
void *rungi_matrix_first_element(const rung_matrix *matrix);

/* Return the address of the view's memory and of its element (0, 0), in its address space; NULL is this process's
 * memory. */
uintptr_t rungi_matrix_base_address(const rung_matrix *matrix);
uintptr_t rungi_matrix_address(const rung_matrix *matrix);
const void *rungi_matrix_address_space(const rung_matrix *matrix);

/* Returns whether element (0, 0) of every item is at a multiple of `elements` elements, a power of two. Of a view
 * without memory only the offsets count. */
bool rungi_matrix_is_aligned(const rung_matrix *matrix, int64_t batch, int64_t elements);

/* Describes a dense copy of the matrix: without gaps, in the same storage order, repeated rows or columns stored once.
 * `elements` is the size of the copy. Returns false if it overflows. */
bool rungi_matrix_dense(const rung_matrix *matrix, rung_matrix *dense, int64_t *elements);

/* Returns whether the view has the strides of its dense copy. */
bool rungi_matrix_is_dense(const rung_matrix *matrix);

/* Copies one item to a view of the same type and shape. Rows or columns that both views repeat are copied once. */
void rungi_matrix_copy(const rung_matrix *from, const rung_matrix *to);
