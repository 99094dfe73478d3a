/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.c - matrix views: creates them, measures them and copies between them. */
#include "core/matrix.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/error.h"
#include "core/device.h"

int64_t rung_type_size(rung_type type)
{
    return rungi_type_size(type);
}

int64_t rung_type_block_elements(rung_type type)
{
    switch (type) {
    case RUNG_I4:
    case RUNG_U4:
    case RUNG_F4E2M1: return 2;
    case RUNG_Q8_0:
    case RUNG_Q4_0: return 32;
    default: return rungi_type_size(type) > 0 ? 1 : 0;
    }
}

int64_t rung_type_block_bytes(rung_type type)
{
    switch (type) {
    case RUNG_I4:
    case RUNG_U4:
    case RUNG_F4E2M1: return 1;
    case RUNG_Q8_0: return 2 + 32;
    case RUNG_Q4_0: return 2 + 16;
    default: return rungi_type_size(type);
    }
}

rung_matrix rung_matrix_of(rung_type type, int64_t rows, int64_t cols, const void *data)
{
    /* One view type serves inputs and output; only a view used as C is written. */
    return (rung_matrix){.type = type,
                         .rows = rows,
                         .cols = cols,
                         .row_stride = cols > 0 ? cols : 1,
                         .col_stride = 1,
                         .data = (void *)(uintptr_t)data};
}

rung_matrix rung_matrix_ld(rung_type type, int64_t rows, int64_t cols, int64_t ld, rung_order order, const void *data)
{
    rung_matrix matrix = rung_matrix_of(type, rows, cols, data);
    bool is_row_major = order == RUNG_ORDER_ROW_MAJOR;
    matrix.row_stride = is_row_major ? ld : 1;
    matrix.col_stride = is_row_major ? 1 : ld;
    if ((!is_row_major && order != RUNG_ORDER_COL_MAJOR) || ld < 1 || ld < (is_row_major ? cols : rows))
        matrix.rows = matrix.cols = -1;
    return matrix;
}

rung_matrix rung_matrix_in_buffer(rung_type type, int64_t rows, int64_t cols, rung_buffer *buffer, int64_t offset)
{
    rung_matrix matrix = rung_matrix_of(type, rows, cols, NULL);
    matrix.buffer = buffer;
    matrix.offset = offset;
    return matrix;
}

rung_matrix rung_matrix_transpose(rung_matrix matrix)
{
    rung_matrix transposed = matrix;
    transposed.rows = matrix.cols;
    transposed.cols = matrix.rows;
    transposed.row_stride = matrix.col_stride;
    transposed.col_stride = matrix.row_stride;
    return transposed;
}

rung_matrix rung_matrix_block(rung_matrix matrix, int64_t row, int64_t col, int64_t rows, int64_t cols)
{
    rung_matrix block = matrix;
    bool is_inside = row >= 0 && col >= 0 && rows >= 0 && cols >= 0 && matrix.rows >= rows && matrix.cols >= cols &&
                     row <= matrix.rows - rows && col <= matrix.cols - cols;
    block.rows = rows;
    block.cols = cols;
    if (!is_inside || !rungi_checked_multiply_add(row, matrix.row_stride, &block.offset) ||
        !rungi_checked_multiply_add(col, matrix.col_stride, &block.offset))
        block.rows = block.cols = -1;
    return block;
}

rung_matrix rung_matrix_broadcast(rung_matrix matrix, int64_t rows, int64_t cols)
{
    rung_matrix broadcast = matrix;
    bool fits = rows >= 0 && cols >= 0 && (matrix.rows == rows || matrix.rows == 1) &&
                (matrix.cols == cols || matrix.cols == 1);
    broadcast.rows = fits ? rows : -1;
    broadcast.cols = fits ? cols : -1;
    if (matrix.rows == 1 && rows != 1)
        broadcast.row_stride = 0;
    if (matrix.cols == 1 && cols != 1)
        broadcast.col_stride = 0;
    return broadcast;
}

rung_status rungi_matrix_check_blocks(const char *name, const rung_matrix *matrix)
{
    int64_t count = rung_type_block_elements(matrix->type);
    bool by_rows = rungi_matrix_has_blocks_in_rows(matrix);
    if (!by_rows && matrix->row_stride != 1)
        return rungi_invalid("%s has type %s and strides %lld and %lld; one of them must be 1", name,
                             rung_type_name(matrix->type), (long long)matrix->row_stride,
                             (long long)matrix->col_stride);
    int64_t length = by_rows ? matrix->cols : matrix->rows, others = by_rows ? matrix->rows : matrix->cols;
    int64_t stride = by_rows ? matrix->row_stride : matrix->col_stride;
    if (length % count != 0 || matrix->offset % count != 0 || (length > 0 && others > 1 && stride % count != 0))
        return rungi_invalid(
            "%s has type %s, whose blocks have %lld elements: %lld elements, a stride of %lld and an offset of %lld "
            "must be multiples of that",
            name, rung_type_name(matrix->type), (long long)count, (long long)length, (long long)stride,
            (long long)matrix->offset);
    return RUNG_OK;
}

bool rungi_matrix_span(const rung_matrix *matrix, int64_t *elements)
{
    int64_t size = rungi_type_size_limit(matrix->type), last = 0, end = matrix->offset, bytes;
    *elements = 0;
    /* Strides are checked even where no index uses them, so that later code may multiply them without a check. */
    if (!rungi_checked_multiply(matrix->row_stride, size, &bytes) ||
        !rungi_checked_multiply(matrix->col_stride, size, &bytes) || !rungi_checked_multiply(end, size, &bytes))
        return false;
    if (rungi_matrix_is_empty(matrix))
        return true;
    return rungi_checked_multiply_add(matrix->rows - 1, matrix->row_stride, &last) &&
           rungi_checked_multiply_add(matrix->cols - 1, matrix->col_stride, &last) &&
           rungi_checked_add(last, 1, elements) && rungi_checked_add(end, *elements, &end) &&
           rungi_checked_multiply(end, size, &bytes);
}

/* Any valid batch stride suits a single item. */
static bool has_same_items(const rung_matrix *x, const rung_matrix *y, int64_t batch)
{
    if (x->batch_stride == y->batch_stride)
        return true;
    return batch < 2 && y->batch_stride >= 0 &&
           (y->type == RUNG_TYPE_NONE || y->batch_stride % rung_type_block_elements(y->type) == 0);
}

bool rungi_matrix_has_same_form(const rung_matrix *x, const rung_matrix *y, int64_t batch)
{
    return x->type == y->type && x->rows == y->rows && x->cols == y->cols && x->row_stride == y->row_stride &&
           x->col_stride == y->col_stride && has_same_items(x, y, batch) && !x->batch_offsets == !y->batch_offsets;
}

bool rungi_matrix_batch_span(const rung_matrix *matrix, int64_t batch, int64_t *elements)
{
    int64_t last = 0, end = matrix->offset, bytes;
    if (!rungi_checked_multiply(matrix->batch_stride, rungi_type_size_limit(matrix->type), &bytes) ||
        !rungi_matrix_span(matrix, elements))
        return false;
    if (*elements == 0 || batch == 0)
        return true;
    for (int64_t i = 0; matrix->batch_offsets && i < batch; i++)
        last = matrix->batch_offsets[i] > last ? matrix->batch_offsets[i] : last;
    if (!matrix->batch_offsets && !rungi_checked_multiply(batch - 1, matrix->batch_stride, &last))
        return false;
    return rungi_checked_add(*elements, last, elements) && rungi_checked_add(end, *elements, &end) &&
           rungi_checked_multiply(end, rungi_type_size_limit(matrix->type), &bytes);
}

void *rungi_matrix_first_element(const rung_matrix *matrix)
{
    RUNGI_ASSERT(!matrix->buffer);
    return (char *)matrix->data + rungi_type_bytes(matrix->type, matrix->offset);
}

uintptr_t rungi_matrix_base_address(const rung_matrix *matrix)
{
    return matrix->buffer ? matrix->buffer->address : (uintptr_t)matrix->data;
}

uintptr_t rungi_matrix_address(const rung_matrix *matrix)
{
    return rungi_matrix_base_address(matrix) + (uintptr_t)rungi_type_offset(matrix->type, matrix->offset);
}

const void *rungi_matrix_address_space(const rung_matrix *matrix)
{
    return matrix->buffer ? matrix->buffer->address_space : NULL;
}

bool rungi_matrix_is_aligned(const rung_matrix *matrix, int64_t batch, int64_t elements)
{
    int64_t size = rungi_type_size(matrix->type);
    if (rungi_matrix_is_empty(matrix))
        return true;
    RUNGI_ASSERT(size > 0 && elements > 0 && (elements & (elements - 1)) == 0);
    if (rungi_matrix_address(matrix) & (uintptr_t)(elements * size - 1)) /* both factors are powers of two */
        return false;
    if (!matrix->batch_offsets)
        return batch < 2 || matrix->batch_stride % elements == 0;
    for (int64_t i = 0; i < batch; i++)
        if (matrix->batch_offsets[i] % elements != 0)
            return false;
    return true;
}

/* Returns the number of rows or columns that a dense copy stores: 1 for repeated ones (stride 0). */
static int64_t stored_count(int64_t count, int64_t stride)
{
    return stride == 0 && count > 1 ? 1 : count;
}

bool rungi_matrix_dense(const rung_matrix *matrix, rung_matrix *dense, int64_t *elements)
{
    int64_t rows = stored_count(matrix->rows, matrix->row_stride);
    int64_t cols = stored_count(matrix->cols, matrix->col_stride);
    bool is_column_major = matrix->row_stride < matrix->col_stride && rows > 1;
    int64_t bytes;

    *dense = rung_matrix_of(matrix->type, matrix->rows, matrix->cols, NULL);
    dense->row_stride = rows == matrix->rows ? (is_column_major ? 1 : cols) : 0;
    dense->col_stride = cols == matrix->cols ? (is_column_major ? rows : 1) : 0;
    if (!rungi_checked_multiply(rows, cols, elements) ||
        !rungi_checked_multiply(*elements, rungi_type_size_limit(matrix->type), &bytes))
        return false;
    bool ends_in_byte = rungi_type_is_4_bit(matrix->type) && *elements % 2 != 0;
    return rungi_checked_add(*elements, ends_in_byte, elements); /* the items of a batch begin with whole bytes */
}

bool rungi_matrix_is_dense(const rung_matrix *matrix)
{
    rung_matrix dense;
    int64_t elements;
    return rungi_matrix_dense(matrix, &dense, &elements) &&
           (matrix->rows <= 1 || matrix->row_stride == dense.row_stride) &&
           (matrix->cols <= 1 || matrix->col_stride == dense.col_stride);
}

/* Copies `count` elements of `size` bytes. The strides are in bytes. */
static void copy_run(const char *from, int64_t from_stride, char *to, int64_t to_stride, int64_t count, int64_t size)
{
    if (from_stride == size && to_stride == size) {
        memcpy(to, from, (size_t)(count * size));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_stride, from + i * from_stride, (size_t)size);
}

/* Replaces elements by whole blocks: of Q8_0 and Q4_0, or pairs of 4-bit elements. They lie along the rows or along the
 * columns. Returns false if rows or columns do not consist of whole blocks. */
static bool count_in_blocks(rung_matrix *matrix, bool in_rows)
{
    int64_t count = rung_type_block_elements(matrix->type);
    int64_t *length = in_rows ? &matrix->cols : &matrix->rows, lines = in_rows ? matrix->rows : matrix->cols;
    int64_t unit = in_rows ? matrix->col_stride : matrix->row_stride;
    int64_t *other = in_rows ? &matrix->row_stride : &matrix->col_stride;
    if (unit != 1 || *length % count != 0 || matrix->offset % count != 0 || (lines > 1 && *other % count != 0))
        return false;
    *length /= count;
    *other /= count;
    matrix->offset /= count;
    return true;
}

/* Copies 4-bit elements one by one. */
static void copy_half_bytes(const rung_matrix *from, const rung_matrix *to)
{
    const unsigned char *source = from->data;
    unsigned char *target = to->data;
    for (int64_t i = 0; i < from->rows; i++)
        for (int64_t j = 0; j < from->cols; j++) {
            int64_t read = from->offset + i * from->row_stride + j * from->col_stride;
            int64_t write = to->offset + i * to->row_stride + j * to->col_stride, shift = write % 2 * 4;
            unsigned code = (unsigned)source[read / 2] >> (read % 2 * 4) & 15u;
            target[write / 2] = (unsigned char)((target[write / 2] & (0xf0u >> shift)) | code << shift);
        }
}

/* Copies elements, or blocks, of `size` bytes. Offsets and strides count such units. */
static void copy_units(const rung_matrix *from, const rung_matrix *to, int64_t size)
{
    bool rows_repeat = from->row_stride == 0 && to->row_stride == 0;
    bool cols_repeat = from->col_stride == 0 && to->col_stride == 0;
    int64_t rows = rows_repeat ? stored_count(from->rows, 0) : from->rows;
    int64_t cols = cols_repeat ? stored_count(from->cols, 0) : from->cols;
    const char *source = (const char *)from->data + from->offset * size;
    char *target = (char *)to->data + to->offset * size;
    bool is_row_outer = to->col_stride <= to->row_stride;
    int64_t outer = is_row_outer ? rows : cols, inner = is_row_outer ? cols : rows;
    for (int64_t i = 0; i < outer; i++)
        copy_run(source + i * size * (is_row_outer ? from->row_stride : from->col_stride),
                 size * (is_row_outer ? from->col_stride : from->row_stride),
                 target + i * size * (is_row_outer ? to->row_stride : to->col_stride),
                 size * (is_row_outer ? to->col_stride : to->row_stride), inner, size);
}

void rungi_matrix_copy(const rung_matrix *from, const rung_matrix *to)
{
    rung_matrix source = *from, target = *to;
    bool in_rows = rungi_matrix_has_blocks_in_rows(from);
    RUNGI_ASSERT(from->type == to->type && from->rows == to->rows && from->cols == to->cols);
    if (rungi_matrix_is_empty(from))
        return;
    RUNGI_ASSERT(from->data && to->data && !from->buffer && !to->buffer);
    if (rungi_type_size(from->type) == 0 && !(count_in_blocks(&source, in_rows) && count_in_blocks(&target, in_rows))) {
        RUNGI_ASSERT(rungi_type_is_4_bit(from->type)); /* blocks with scales are whole: rungi_matrix_check_blocks() */
        copy_half_bytes(from, to);
        return;
    }
    copy_units(&source, &target, rung_type_block_bytes(from->type));
}
