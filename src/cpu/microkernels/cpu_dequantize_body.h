/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_dequantize_body.h - dequantizes lines of up to RUNGI_DEQUANTIZE_LINE elements. A file includes this body once and is
 * compiled for one instruction set; the loops are written so that compilers vectorise them. DEQUANTIZE_FUNCTIONS is the table
 * that it defines.
 *
 * A line is part of a column or of a row of the matrix. Its codes are collected as bytes, looked up or converted, and then scaled, each
 * element with a scale of its own: a block may be one element wide. */
#include <math.h>

#include "base/checked_arithmetic.h"
#include "cpu/microkernels/cpu_dequantize.h"

enum { LINE = RUNGI_DEQUANTIZE_LINE };

/* The scale and the zero point of each element of a line. */
typedef struct line_scales {
    float scale[LINE], zero[LINE];
} line_scales_t;

/* ---- Elements ---------------------------------------------------------------------------------------------- */

static const float i4_values[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
static const float f4e2m1_values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                        -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

/* The numbers with one exponent, of which `unit` is the last place: 3 bits of fraction in F8E4M3, 2 bits in F8E5M2. */
#define SMALL_4(unit) 0.0f * (unit), 1.0f * (unit), 2.0f * (unit), 3.0f * (unit)
#define FRACTIONS_4(unit) 4.0f * (unit), 5.0f * (unit), 6.0f * (unit), 7.0f * (unit)
#define FRACTIONS_8(unit) 8.0f * (unit), 9.0f * (unit), 10.0f * (unit), 11.0f * (unit), LAST_4_OF_8(unit)
#define LAST_4_OF_8(unit) 12.0f * (unit), 13.0f * (unit), 14.0f * (unit), 15.0f * (unit)
#define F8E4M3_NUMBERS(sign)                                                                                        \
    SMALL_4(sign 0x1p-9f), FRACTIONS_4(sign 0x1p-9f), FRACTIONS_8(sign 0x1p-9f), FRACTIONS_8(sign 0x1p-8f),         \
        FRACTIONS_8(sign 0x1p-7f), FRACTIONS_8(sign 0x1p-6f), FRACTIONS_8(sign 0x1p-5f), FRACTIONS_8(sign 0x1p-4f), \
        FRACTIONS_8(sign 0x1p-3f), FRACTIONS_8(sign 0x1p-2f), FRACTIONS_8(sign 0x1p-1f), FRACTIONS_8(sign 0x1p0f),  \
        FRACTIONS_8(sign 0x1p1f), FRACTIONS_8(sign 0x1p2f), FRACTIONS_8(sign 0x1p3f), FRACTIONS_8(sign 0x1p4f),     \
        sign 256.0f, sign 288.0f, sign 320.0f, sign 352.0f, sign 384.0f, sign 416.0f, sign 448.0f, NAN
#define F8E5M2_NUMBERS(sign)                                                                                         \
    SMALL_4(sign 0x1p-16f), FRACTIONS_4(sign 0x1p-16f), FRACTIONS_4(sign 0x1p-15f), FRACTIONS_4(sign 0x1p-14f),      \
        FRACTIONS_4(sign 0x1p-13f), FRACTIONS_4(sign 0x1p-12f), FRACTIONS_4(sign 0x1p-11f),                          \
        FRACTIONS_4(sign 0x1p-10f), FRACTIONS_4(sign 0x1p-9f), FRACTIONS_4(sign 0x1p-8f), FRACTIONS_4(sign 0x1p-7f), \
        FRACTIONS_4(sign 0x1p-6f), FRACTIONS_4(sign 0x1p-5f), FRACTIONS_4(sign 0x1p-4f), FRACTIONS_4(sign 0x1p-3f),  \
        FRACTIONS_4(sign 0x1p-2f), FRACTIONS_4(sign 0x1p-1f), FRACTIONS_4(sign 0x1p0f), FRACTIONS_4(sign 0x1p1f),    \
        FRACTIONS_4(sign 0x1p2f), FRACTIONS_4(sign 0x1p3f), FRACTIONS_4(sign 0x1p4f), FRACTIONS_4(sign 0x1p5f),      \
        FRACTIONS_4(sign 0x1p6f), FRACTIONS_4(sign 0x1p7f), FRACTIONS_4(sign 0x1p8f), FRACTIONS_4(sign 0x1p9f),      \
        FRACTIONS_4(sign 0x1p10f), FRACTIONS_4(sign 0x1p11f), FRACTIONS_4(sign 0x1p12f), FRACTIONS_4(sign 0x1p13f),  \
        sign INFINITY, NAN, NAN, NAN
static const float f8e4m3_values[256] = {F8E4M3_NUMBERS(+), F8E4M3_NUMBERS(-)};
static const float f8e5m2_values[256] = {F8E5M2_NUMBERS(+), F8E5M2_NUMBERS(-)};

/* Splits contiguous pairs of 4-bit elements, the first in the lower half of a byte. */
static void split_pairs(const uint8_t *data, int64_t first, int64_t count, uint8_t *codes)
{
    const uint8_t *pairs = data + (first + 1) / 2;
    int64_t whole, i = 0;
    if (first % 2 != 0 && count > 0)
        codes[i++] = (uint8_t)(data[first / 2] >> 4);
    whole = (count - i) / 2;
    for (int64_t pair = 0; pair < whole; pair++) {
        codes[i + 2 * pair] = (uint8_t)(pairs[pair] & 15);
        codes[i + 2 * pair + 1] = (uint8_t)(pairs[pair] >> 4);
    }
    if (i + 2 * whole < count)
        codes[count - 1] = (uint8_t)(pairs[whole] & 15);
}

/* Collects the codes of the elements number `first`, first + stride ... */
static void read_codes(const rungi_cpu_narrow *matrix, int64_t first, int64_t stride, int64_t count, uint8_t *codes)
{
    const uint8_t *data = matrix->memory;
    bool is_4_bit = rungi_type_is_4_bit(matrix->type);
    if (is_4_bit && stride == 1) {
        split_pairs(data, first, count, codes);
        return;
    }
    for (int64_t i = 0; i < count && is_4_bit; i++)
        codes[i] = (uint8_t)(data[(first + i * stride) / 2] >> ((first + i * stride) % 2 * 4) & 15);
    for (int64_t i = 0; i < count && !is_4_bit; i++)
        codes[i] = data[first + i * stride];
}

static void look_up(const float *table, const uint8_t *codes, int64_t count, float *values)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = table[codes[i]];
}

/* Reads a line of elements without their scales. */
static void read_line(const rungi_cpu_narrow *matrix, int64_t first, int64_t stride, int64_t count, float *values)
{
    uint8_t codes[LINE];
    read_codes(matrix, first, stride, count, codes);
    switch (matrix->type) {
    case RUNG_I8:
        for (int64_t i = 0; i < count; i++)
            values[i] = (float)(int8_t)codes[i];
        break;
    case RUNG_I4: look_up(i4_values, codes, count, values); break;
    case RUNG_F4E2M1: look_up(f4e2m1_values, codes, count, values); break;
    case RUNG_F8E4M3: look_up(f8e4m3_values, codes, count, values); break;
    case RUNG_F8E5M2: look_up(f8e5m2_values, codes, count, values); break;
    default: /* U8 and U4 */
        for (int64_t i = 0; i < count; i++)
            values[i] = (float)codes[i];
    }
}

/* ---- Scales ------------------------------------------------------------------------------------------------ */

/* Reads one number of a view of scales or zero points, whose offset in the item is `offset`. */
static float read_block(const rungi_cpu_narrow *matrix, const rung_matrix *blocks, int64_t offset, int64_t row,
                        int64_t col, float absent)
{
    if (!blocks->data)
        return absent;
    if (matrix->is_transposed)
        return rungi_element_read(blocks, offset + col * blocks->row_stride + row * blocks->col_stride);
    return rungi_element_read(blocks, offset + row * blocks->row_stride + col * blocks->col_stride);
}

static int64_t block_rows(const rungi_cpu_narrow *matrix)
{
    return matrix->is_transposed ? matrix->quantization->block_cols : matrix->quantization->block_rows;
}

static int64_t block_cols(const rungi_cpu_narrow *matrix)
{
    return matrix->is_transposed ? matrix->quantization->block_rows : matrix->quantization->block_cols;
}

/* Reads the scales of a line that begins at element (p, j) and extends along the rows' numbers or the columns'. */
static void read_scales(const rungi_cpu_narrow *matrix, int64_t p, int64_t j, bool is_along_k, int64_t count,
                        line_scales_t *scales)
{
    const rung_quantization *quantization = matrix->quantization;
    int64_t col = matrix->first_col + j, begin = is_along_k ? p : col, end;
    int64_t block = is_along_k ? block_rows(matrix) : block_cols(matrix);
    for (int64_t i = 0; i < count; i = end) {
        int64_t index = (begin + i) / block, rest = block - (begin + i) % block; /* elements up to the next block */
        int64_t scale_row = is_along_k ? index : p / block_rows(matrix);
        int64_t scale_col = is_along_k ? col / block_cols(matrix) : index;
        float scale = read_block(matrix, &quantization->scales, matrix->scales_offset, scale_row, scale_col, 1);
        float zero = read_block(matrix, &quantization->zero_points, matrix->zero_points_offset, scale_row, scale_col,
                                0);
        end = rest < count - i ? i + rest : count;
        for (int64_t e = i; e < end; e++) {
            scales->scale[e] = scale;
            scales->zero[e] = zero;
        }
    }
}

static void apply_scales(const line_scales_t *scales, int64_t count, float *values)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = scales->scale[i] * (values[i] - scales->zero[i]);
}

/* ---- Lines ------------------------------------------------------------------------------------------------- */

static void dequantize_column(const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t count, float *values)
{
    line_scales_t scales;
    read_line(matrix, matrix->offset + p * matrix->row_stride + j * matrix->col_stride, matrix->row_stride, count,
              values);
    if (!matrix->quantization)
        return;
    read_scales(matrix, p, j, true, count, &scales);
    apply_scales(&scales, count, values);
}

static void dequantize_rows(const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t rows, int64_t cols, float *to,
                            int64_t to_row_stride)
{
    line_scales_t scales;
    int64_t end_of_block = p; /* row from which on the scales differ */
    for (int64_t i = p; i < p + rows; i++, to += to_row_stride) {
        read_line(matrix, matrix->offset + i * matrix->row_stride + j * matrix->col_stride, matrix->col_stride, cols,
                  to);
        if (!matrix->quantization)
            continue;
        if (i == end_of_block) {
            int64_t rest = block_rows(matrix) - i % block_rows(matrix);
            read_scales(matrix, i, j, false, cols, &scales);
            end_of_block = rest < p + rows - i ? i + rest : p + rows;
        }
        apply_scales(&scales, cols, to);
    }
}

const rungi_cpu_dequantize_functions DEQUANTIZE_FUNCTIONS = {dequantize_column, dequantize_rows};
