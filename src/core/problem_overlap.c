/* SPDX-License-Identifier: Apache-2.0 */
/* problem_overlap.c - decides whether views share elements, from their addresses, strides and batch offsets. */
#include "core/problem.h"

#include <string.h>

#include "base/assert.h"
#include "core/matrix.h"

/* Comparisons per item of a batch. An item whose range meets more items counts as overlapping, so that no check takes
 * longer than a multiply. */
enum { OVERLAP_COMPARISONS_MAX = 64 };

bool rungi_matrix_is_same_view(const rung_matrix *x, const rung_matrix *y, int64_t items)
{
    bool is_same = (x->data || x->buffer) && x->type == y->type && x->rows == y->rows && x->cols == y->cols &&
                   x->row_stride == y->row_stride && x->col_stride == y->col_stride && x->data == y->data &&
                   x->buffer == y->buffer && x->offset == y->offset && !x->batch_offsets == !y->batch_offsets;
    if (!is_same || x->batch_offsets == y->batch_offsets)
        return is_same && (items < 2 || x->batch_offsets || x->batch_stride == y->batch_stride);
    return memcmp(x->batch_offsets, y->batch_offsets, (size_t)items * sizeof *x->batch_offsets) == 0;
}

/* ---- Two views --------------------------------------------------------------------------------------------------- */

static int64_t greatest_common_divisor(int64_t x, int64_t y)
{
    while (y != 0) {
        int64_t remainder = x % y;
        x = y;
        y = remainder;
    }
    return x;
}

bool rungi_matrix_overlaps_itself(const rung_matrix *matrix)
{
    if (rungi_matrix_is_empty(matrix))
        return false;
    if (matrix->row_stride == 0 || matrix->col_stride == 0)
        return (matrix->row_stride == 0 && matrix->rows > 1) || (matrix->col_stride == 0 && matrix->cols > 1);
    /* Elements i rows and j columns apart are the same where i * row_stride = j * col_stride. The common divisor gives
     * the smallest such i and j. */
    int64_t common = greatest_common_divisor(matrix->row_stride, matrix->col_stride);
    return matrix->col_stride / common < matrix->rows && matrix->row_stride / common < matrix->cols;
}

/* A view as a rectangle of byte addresses. The outer stride is the longer one. */
typedef struct rectangle {
    uintptr_t first;                                              /* address of the first byte */
    int64_t size;                                                 /* bytes per element */
    int64_t outer_stride, outer_count, inner_stride, inner_count; /* strides in bytes */
    int64_t bytes; /* from the first byte to the end of the last element */
} rectangle_t;

/* Returns all bytes of a view as one element: for matrices that are compared with no other of their kind, since no result
 * has blocks or elements of 4 bits. */
static rectangle_t rectangle_of_bytes(const rung_matrix *matrix)
{
    int64_t span = 0;
    rungi_matrix_span(matrix, &span);
    int64_t bytes = rungi_matrix_span_bytes(matrix, span);
    return (rectangle_t){.first = rungi_matrix_address(matrix),
                         .size = bytes,
                         .outer_stride = bytes,
                         .outer_count = 1,
                         .inner_stride = bytes,
                         .inner_count = 1,
                         .bytes = bytes};
}

static rectangle_t rectangle_of(const rung_matrix *matrix)
{
    if (rungi_type_has_scales(matrix->type) || rungi_type_is_4_bit(matrix->type))
        return rectangle_of_bytes(matrix);
    int64_t size = rungi_type_size(matrix->type), span = 0;
    bool is_row_outer = matrix->row_stride >= matrix->col_stride;
    rungi_matrix_span(matrix, &span);
    return (rectangle_t){
        .first = rungi_matrix_address(matrix),
        .size = size,
        .outer_stride = size * (is_row_outer ? matrix->row_stride : matrix->col_stride),
        .outer_count = is_row_outer ? matrix->rows : matrix->cols,
        .inner_stride = size * (is_row_outer ? matrix->col_stride : matrix->row_stride),
        .inner_count = is_row_outer ? matrix->cols : matrix->rows,
        .bytes = span * size,
    };
}

/* Returns whether [0, x_count) and [shift, shift + y_count) overlap. */
static bool ranges_overlap(int64_t x_count, int64_t shift, int64_t y_count)
{
    return shift < x_count && -shift < y_count;
}

/* Writes the distance between the first elements as whole outer and inner strides, and tests both ranges. An inner run
 * is shorter than an outer stride, so at most two such sums exist. */
static bool same_stride_rectangles_overlap(const rectangle_t *x, const rectangle_t *y)
{
    int64_t distance = (int64_t)(y->first - x->first);
    RUNGI_ASSERT(x->size > 0 && x->inner_stride > 0 && x->outer_stride > 0);
    if (distance % x->size != 0)
        return true;
    int64_t first = distance / x->outer_stride - (distance % x->outer_stride < 0);
    for (int64_t outer = first; outer <= first + 1; outer++) {
        int64_t remainder = distance - outer * x->outer_stride;
        if (remainder % x->inner_stride == 0 && ranges_overlap(x->outer_count, outer, y->outer_count) &&
            ranges_overlap(x->inner_count, remainder / x->inner_stride, y->inner_count))
            return true;
    }
    return false;
}

static bool inner_fits_outer_stride(const rectangle_t *x)
{
    return x->inner_stride > 0 && x->inner_count <= x->outer_stride / x->inner_stride;
}

bool rungi_matrices_overlap(const rung_matrix *x, const rung_matrix *y)
{
    if (rungi_matrix_is_empty(x) || rungi_matrix_is_empty(y) ||
        rungi_matrix_address_space(x) != rungi_matrix_address_space(y))
        return false;
    rectangle_t first = rectangle_of(x), second = rectangle_of(y);
    if (first.first + (uintptr_t)first.bytes <= second.first || second.first + (uintptr_t)second.bytes <= first.first)
        return false;
    bool has_same_strides = first.size == second.size && first.outer_stride == second.outer_stride &&
                            first.inner_stride == second.inner_stride && inner_fits_outer_stride(&first) &&
                            inner_fits_outer_stride(&second);
    return !has_same_strides || same_stride_rectangles_overlap(&first, &second);
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */

typedef struct dimension {
    int64_t stride, count;
} dimension_t;

/* Returns whether each stride of a batch is at least the span of all smaller strides, so that no two elements
 * overlap. */
static bool is_nested(const rung_matrix *matrix, int64_t batch)
{
    dimension_t dimensions[] = {
        {matrix->row_stride, matrix->rows}, {matrix->col_stride, matrix->cols}, {matrix->batch_stride, batch}};
    int64_t span = 1;
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++)
            if (dimensions[j].stride < dimensions[i].stride) {
                dimension_t larger = dimensions[i];
                dimensions[i] = dimensions[j];
                dimensions[j] = larger;
            }
    for (int i = 0; i < 3; i++) {
        if (dimensions[i].count < 2)
            continue;
        if (dimensions[i].stride < span)
            return false;
        span += dimensions[i].stride * (dimensions[i].count - 1);
    }
    return true;
}

/* Returns the first item of C that ends after `offset`. The items are at ascending offsets. */
static int64_t first_item_after(const rung_matrix *c, int64_t batch, int64_t span, int64_t offset)
{
    int64_t low = 0, high = batch;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (rungi_matrix_item_offset(c, middle) + span > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool rungi_batches_overlap(const rung_matrix *c, const rung_matrix *other, int64_t batch)
{
    int64_t c_batch_span, other_batch_span, c_span, other_span;
    int64_t size = rungi_type_size(c->type);
    if (rungi_matrix_is_empty(c) || rungi_matrix_is_empty(other) || batch == 0 ||
        rungi_matrix_address_space(c) != rungi_matrix_address_space(other))
        return false;
    if (batch == 1 && !c->batch_offsets && !other->batch_offsets)
        return rungi_matrices_overlap(c, other);
    int64_t distance = (int64_t)(rungi_matrix_address(other) - rungi_matrix_address(c));
    rungi_matrix_batch_span(c, batch, &c_batch_span);
    rungi_matrix_batch_span(other, batch, &other_batch_span);
    if (distance >= c_batch_span * size || -distance >= rungi_matrix_span_bytes(other, other_batch_span))
        return false;
    rungi_matrix_span(c, &c_span);
    rungi_matrix_span(other, &other_span);
    int64_t items = rungi_matrix_is_batch_invariant(other) ? 1 : batch;
    for (int64_t i = 0; i < items; i++) {
        rung_matrix item = rungi_matrix_item(other, i);
        int64_t start = (int64_t)(rungi_matrix_address(&item) - rungi_matrix_address(c));
        int64_t end = start + rungi_matrix_span_bytes(&item, other_span);
        int64_t first = first_item_after(c, batch, c_span, start >= 0 ? start / size : -1);
        for (int64_t j = first; j < batch && rungi_matrix_item_offset(c, j) * size < end; j++) {
            rung_matrix c_item = rungi_matrix_item(c, j);
            if (j - first >= OVERLAP_COMPARISONS_MAX || rungi_matrices_overlap(&c_item, &item))
                return true;
        }
    }
    return false;
}

/* Returns whether the offsets have equal distances, so that a batch stride can replace them. */
static bool is_stride(const int64_t *offsets, int64_t batch)
{
    for (int64_t i = 2; i < batch; i++)
        if (offsets[i] - offsets[i - 1] != offsets[1] - offsets[0])
            return false;
    return batch > 1;
}

bool rungi_batch_overlaps_itself(const rung_matrix *matrix, int64_t batch)
{
    int64_t span;
    const int64_t *offsets = matrix->batch_offsets;
    if (rungi_matrix_is_empty(matrix))
        return false;
    if (!offsets)
        return batch > 1 && !is_nested(matrix, batch);
    if (is_stride(offsets, batch)) {
        rung_matrix strided = *matrix;
        strided.batch_stride = offsets[1] - offsets[0];
        return !is_nested(&strided, batch);
    }
    rungi_matrix_span(matrix, &span);
    for (int64_t i = 1; i < batch; i++) {
        rung_matrix item = rungi_matrix_item(matrix, i);
        for (int64_t j = i - 1; j >= 0 && offsets[j] + span > offsets[i]; j--) {
            rung_matrix previous = rungi_matrix_item(matrix, j);
            if (i - j > OVERLAP_COMPARISONS_MAX || rungi_matrices_overlap(&previous, &item))
                return true;
        }
    }
    return false;
}
