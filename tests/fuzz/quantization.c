/* SPDX-License-Identifier: Apache-2.0 */
/* quantization.c - any bytes as arguments of rung_quantize() and rung_dequantize(): types, sizes, strides, blocks and values.
 * A call is refused with a sentence and nothing is written, or elements survive another conversion unchanged. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <stdbool.h>

#include "byte_reader.h"
#include "guarded_memory.h"
#include "rung/rung.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FLOATS, ELEMENTS, SCALES, ZERO_POINTS, MEMORIES, BYTES = 8192 };

static guarded_memory_t memory[MEMORIES];
static unsigned char before[MEMORIES][BYTES];

/* Returns whether the view lies in its memory, as a caller must see to. */
static bool fits(const rung_matrix *view)
{
    int64_t elements = rung_type_block_elements(view->type), last, other;
    if (elements == 0 || view->rows <= 0 || view->cols <= 0 || view->row_stride < 0 || view->col_stride < 0 ||
        view->offset < 0)
        return true;
    return !__builtin_mul_overflow(view->rows - 1, view->row_stride, &last) &&
           !__builtin_mul_overflow(view->cols - 1, view->col_stride, &other) &&
           !__builtin_add_overflow(last, other, &last) && !__builtin_add_overflow(last, view->offset, &last) &&
           last / elements < BYTES / rung_type_block_bytes(view->type);
}

static rung_matrix read_matrix(byte_reader_t *reader, int place, rung_type type, int64_t rows, int64_t cols)
{
    unsigned flags = read_byte(reader);
    rung_matrix view = rung_matrix_of(type, rows, cols, memory[place].start);
    if (flags & 1)
        view.row_stride = read_size(reader, 70);
    if (flags & 2)
        view.col_stride = read_size(reader, 70);
    if (flags & 4)
        view.offset = read_size(reader, 70);
    if (flags & 8)
        view.type = (rung_type)read_size(reader, 17);
    if (flags & 16)
        view.rows = read_size(reader, 40);
    if (flags & 32)
        view.data = NULL;
    if (flags & 64)
        view = rung_matrix_transpose(view);
    if ((flags & 192) == 192)
        view.batch_stride = read_size(reader, 9);
    return view;
}

static void fill(byte_reader_t *reader, rung_type type)
{
    unsigned scale = read_byte(reader);
    for (size_t i = 0; i < BYTES / 4; i++) {
        float value = (float)((int)(i * 7919 % 201) - 100) * (scale < 128 ? 0.25f : 1e30f);
        ((float *)(void *)memory[FLOATS].start)[i] = value;
    }
    if (type != RUNG_F32)
        for (size_t i = 0; i < BYTES; i++)
            memory[FLOATS].start[i] = (unsigned char)(i * 37 + scale);
    for (size_t i = 0; i < 64 && reader->left > 0; i++)
        memory[FLOATS].start[i * 3] = (unsigned char)read_byte(reader);
    for (int j = 0; j < MEMORIES; j++)
        memcpy(before[j], memory[j].start, BYTES);
}

static void must_be_unchanged(int place)
{
    MUST(memcmp(before[place], memory[place].start, BYTES) == 0);
}

static void protect(int place, int protection)
{
    mprotect(memory[place].start, memory[place].bytes, protection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const rung_type floats[] = {RUNG_F32, RUNG_F64, RUNG_F16, RUNG_BF16};
    byte_reader_t reader = {data, size};
    for (int i = 0; i < MEMORIES; i++)
        if (!memory[i].start)
            memory[i] = guarded_create(BYTES);
    int64_t rows = read_size(&reader, 40), cols = read_size(&reader, 70);
    rung_matrix from = read_matrix(&reader, FLOATS, floats[read_below(&reader, 4)], rows, cols);
    rung_matrix to = read_matrix(&reader, ELEMENTS, (rung_type)(1 + read_below(&reader, 15)), rows, cols);
    rung_quantization quantization = rung_quantization_default();
    bool has_quantization = read_below(&reader, 3) > 0;
    quantization.block_rows = read_size(&reader, 40);
    quantization.block_cols = read_size(&reader, 40);
    int64_t block_rows = quantization.block_rows > 0 ? quantization.block_rows : rows > 0 ? rows : 1;
    int64_t block_cols = quantization.block_cols > 0 ? quantization.block_cols : cols > 0 ? cols : 1;
    int64_t scale_rows = rows / block_rows + (rows % block_rows > 0),
            scale_cols = cols / block_cols + (cols % block_cols > 0);
    unsigned present = read_byte(&reader);
    if (present & 1)
        quantization.scales = read_matrix(&reader, SCALES, (rung_type)(1 + read_below(&reader, 13)), scale_rows,
                                          scale_cols);
    if (present & 2)
        quantization.zero_points = read_matrix(&reader, ZERO_POINTS, (rung_type)(1 + read_below(&reader, 13)),
                                               scale_rows, scale_cols);
    if (present > 250)
        quantization.size = read_below(&reader, sizeof quantization + 1);
    if (!fits(&from) || !fits(&to) || !fits(&quantization.scales) || !fits(&quantization.zero_points))
        return 0;
    fill(&reader, from.type);
    protect(FLOATS, PROT_READ);
    rung_status status = rung_quantize(from, to, has_quantization ? &quantization : NULL);
    protect(FLOATS, PROT_READ | PROT_WRITE);
    if (status != RUNG_OK) {
        MUST(strlen(rung_error_text()) > 15);
        for (int i = 0; i < MEMORIES; i++)
            must_be_unchanged(i);
    }
    for (int i = ELEMENTS; i < MEMORIES; i++)
        memcpy(before[i], memory[i].start, BYTES), protect(i, PROT_READ);
    rung_status back = rung_dequantize(to, has_quantization ? &quantization : NULL, from);
    for (int i = ELEMENTS; i < MEMORIES; i++)
        protect(i, PROT_READ | PROT_WRITE);
    if (back != RUNG_OK) {
        MUST(strlen(rung_error_text()) > 15);
        must_be_unchanged(FLOATS);
    }
    return 0;
}
