/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.c - views: making them, measuring them, copying through them. */
#include "core/matrix.h"

#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/lists.h"

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

/* Returns the name at an index, or "?" outside the list. */
static const char *name_at(const char *const *names, int count, int index)
{
    return index >= 0 && index < count ? names[index] : "?";
}

const char *rung_type_name(rung_type type)
{
    static const char *const names[RUNGI_TYPE_COUNT] = {
        [RUNG_TYPE_NONE] = "none", [RUNG_F32] = "f32",   [RUNG_F64] = "f64",       [RUNG_F16] = "f16",
        [RUNG_BF16] = "bf16",      [RUNG_I8] = "i8",     [RUNG_I32] = "i32",       [RUNG_U8] = "u8",
        [RUNG_I4] = "i4",          [RUNG_U4] = "u4",     [RUNG_F8E4M3] = "f8e4m3", [RUNG_F8E5M2] = "f8e5m2",
        [RUNG_F4E2M1] = "f4e2m1",  [RUNG_E8M0] = "e8m0", [RUNG_Q8_0] = "q8_0",     [RUNG_Q4_0] = "q4_0",
    };
    return name_at(names, RUNGI_TYPE_COUNT, (int)type);
}

const char *rung_compute_name(rung_compute compute)
{
    static const char *const names[RUNGI_COMPUTE_COUNT] = {
        [RUNG_COMPUTE_STRICT] = "strict",
        [RUNG_COMPUTE_BF16X3] = "bf16x3",
        [RUNG_COMPUTE_TF32] = "tf32",
        [RUNG_COMPUTE_BF16X1] = "bf16x1",
    };
    return name_at(names, RUNGI_COMPUTE_COUNT, (int)compute);
}

const char *rung_engine_name(rung_engine engine)
{
    static const char *const names[RUNGI_ENGINE_COUNT] = {
        [RUNG_ENGINE_NONE] = "none",
        [RUNG_ENGINE_HARDWARE] = "hardware",
        [RUNG_ENGINE_EMULATED] = "software",
    };
    return name_at(names, RUNGI_ENGINE_COUNT, (int)engine);
}

const char *rung_activation_name(rung_activation activation)
{
    static const char *const names[RUNGI_ACTIVATION_COUNT] = {
        [RUNG_ACTIVATION_NONE] = "none",           [RUNG_ACTIVATION_RELU] = "relu", [RUNG_ACTIVATION_GELU] = "gelu",
        [RUNG_ACTIVATION_GELU_TANH] = "gelu_tanh", [RUNG_ACTIVATION_SILU] = "silu",
    };
    return name_at(names, RUNGI_ACTIVATION_COUNT, (int)activation);
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
    bool by_rows = order == RUNG_ORDER_ROW_MAJOR;
    matrix.row_stride = by_rows ? ld : 1;
    matrix.col_stride = by_rows ? 1 : ld;
    if ((!by_rows && order != RUNG_ORDER_COL_MAJOR) || ld < 1 || ld < (by_rows ? cols : rows))
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
    bool inside = row >= 0 && col >= 0 && rows >= 0 && cols >= 0 && matrix.rows >= rows && matrix.cols >= cols &&
                  row <= matrix.rows - rows && col <= matrix.cols - cols;
    block.rows = inside ? rows : -1;
    block.cols = inside ? cols : -1;
    if (!inside || !rungi_multiply_add(row, matrix.row_stride, &block.offset) ||
        !rungi_multiply_add(col, matrix.col_stride, &block.offset))
        block.rows = block.cols = -1;
    return block;
}

rung_matrix rung_matrix_broadcast(rung_matrix matrix, int64_t rows, int64_t cols)
{
    rung_matrix repeated = matrix;
    bool fits = rows >= 0 && cols >= 0 && (matrix.rows == rows || matrix.rows == 1) &&
                (matrix.cols == cols || matrix.cols == 1);
    repeated.rows = fits ? rows : -1;
    repeated.cols = fits ? cols : -1;
    if (matrix.rows == 1 && rows != 1)
        repeated.row_stride = 0;
    if (matrix.cols == 1 && cols != 1)
        repeated.col_stride = 0;
    return repeated;
}

bool rungi_matrix_span(const rung_matrix *matrix, int64_t *elements)
{
    int64_t size = rungi_type_size(matrix->type), last = 0, end = matrix->offset, bytes;
    *elements = 0;
    /* Strides count even where they are never taken, in a matrix of one row or of
     * none: nobody behind this check has to ask again. */
    if (!rungi_multiply(matrix->row_stride, size, &bytes) || !rungi_multiply(matrix->col_stride, size, &bytes) ||
        !rungi_multiply(end, size, &bytes))
        return false;
    if (rungi_matrix_is_empty(matrix))
        return true;
    bool fits = rungi_multiply_add(matrix->rows - 1, matrix->row_stride, &last) &&
                rungi_multiply_add(matrix->cols - 1, matrix->col_stride, &last) && rungi_add(last, 1, elements) &&
                rungi_add(end, *elements, &end) && rungi_multiply(end, size, &bytes);
    return fits && (uint64_t)bytes <= PTRDIFF_MAX;
}

bool rungi_matrix_batch_span(const rung_matrix *matrix, int64_t batch, int64_t *elements)
{
    int64_t last = 0, end = matrix->offset, bytes;
    if (!rungi_multiply(matrix->batch_stride, rungi_type_size(matrix->type), &bytes) ||
        !rungi_matrix_span(matrix, elements))
        return false;
    if (*elements == 0 || batch == 0)
        return true;
    for (int64_t i = 0; matrix->batch_offsets && i < batch; i++)
        last = matrix->batch_offsets[i] > last ? matrix->batch_offsets[i] : last;
    if (!matrix->batch_offsets && !rungi_multiply(batch - 1, matrix->batch_stride, &last))
        return false;
    return rungi_add(*elements, last, elements) && rungi_add(end, *elements, &end) &&
           rungi_multiply(end, rungi_type_size(matrix->type), &bytes) && (uint64_t)bytes <= PTRDIFF_MAX;
}

void *rungi_matrix_first(const rung_matrix *matrix)
{
    RUNGI_ASSERT(!matrix->buffer);
    return (char *)matrix->data + matrix->offset * rungi_type_size(matrix->type);
}

/* How often an index of this stride must be kept: a repeated one once. */
static int64_t kept(int64_t count, int64_t stride)
{
    return stride == 0 && count > 1 ? 1 : count;
}

bool rungi_matrix_dense(const rung_matrix *matrix, rung_matrix *dense, int64_t *elements)
{
    int64_t rows = kept(matrix->rows, matrix->row_stride);
    int64_t cols = kept(matrix->cols, matrix->col_stride);
    bool rows_inside = matrix->row_stride < matrix->col_stride && rows > 1;
    int64_t bytes;

    *dense = *matrix;
    dense->data = NULL;
    dense->buffer = NULL;
    dense->offset = 0;
    dense->batch_stride = 0;
    dense->batch_offsets = NULL;
    dense->row_stride = rows == matrix->rows ? (rows_inside ? 1 : cols) : 0;
    dense->col_stride = cols == matrix->cols ? (rows_inside ? rows : 1) : 0;
    return rungi_multiply(rows, cols, elements) && rungi_multiply(*elements, rungi_type_size(matrix->type), &bytes);
}

bool rungi_matrix_is_dense(const rung_matrix *matrix)
{
    rung_matrix dense;
    int64_t elements;
    return rungi_matrix_dense(matrix, &dense, &elements) &&
           (matrix->rows <= 1 || matrix->row_stride == dense.row_stride) &&
           (matrix->cols <= 1 || matrix->col_stride == dense.col_stride);
}

/* A run of elements `count` long; strides in bytes. */
static void copy_run(const char *from, int64_t from_stride, char *to, int64_t to_stride, int64_t count, int64_t size)
{
    if (from_stride == size && to_stride == size) {
        memcpy(to, from, (size_t)(count * size));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_stride, from + i * from_stride, (size_t)size);
}

void rungi_matrix_copy(const rung_matrix *from, const rung_matrix *to)
{
    int64_t size = rungi_type_size(from->type);
    RUNGI_ASSERT(from->type == to->type && from->rows == to->rows && from->cols == to->cols);
    bool rows_repeat = from->row_stride == 0 && to->row_stride == 0;
    bool cols_repeat = from->col_stride == 0 && to->col_stride == 0;
    int64_t rows = rows_repeat ? kept(from->rows, 0) : from->rows;
    int64_t cols = cols_repeat ? kept(from->cols, 0) : from->cols;
    if (rungi_matrix_is_empty(from))
        return;
    RUNGI_ASSERT(from->data && to->data);

    const char *source = rungi_matrix_first(from);
    char *target = rungi_matrix_first(to);
    bool along_rows = to->col_stride <= to->row_stride;
    int64_t outer = along_rows ? rows : cols, inner = along_rows ? cols : rows;
    for (int64_t i = 0; i < outer; i++)
        copy_run(source + i * size * (along_rows ? from->row_stride : from->col_stride),
                 size * (along_rows ? from->col_stride : from->row_stride),
                 target + i * size * (along_rows ? to->row_stride : to->col_stride),
                 size * (along_rows ? to->col_stride : to->row_stride), inner, size);
}
