/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c - rung_quantize and rung_dequantize: convert matrices in host memory to narrow types with scales, and back.
 *
 * A scale applies to a block of elements. Q8_0 and Q4_0 hold their scales (base/ggml_blocks.h); the scales of the other types,
 * and their zero points, are matrices of a rung_quantization. */
#include <math.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/error.h"
#include "base/float4.h"
#include "base/float8.h"
#include "base/ggml_blocks.h"
#include "base/try.h"
#include "core/enum_counts.h"
#include "core/quantization.h"

/* ---- Elements --------------------------------------------------------------------------------------------- */

static bool is_unsigned(rung_type type)
{
    return type == RUNG_U8 || type == RUNG_U4;
}

/* Returns the largest number of a narrow type. Signed integers are symmetric: -128 and -8 are not used. */
static float largest_element(rung_type type)
{
    switch (type) {
    case RUNG_I8: return 127;
    case RUNG_U8: return 255;
    case RUNG_I4: return 7;
    case RUNG_U4: return 15;
    case RUNG_F8E4M3: return 448;
    case RUNG_F8E5M2: return 57344;
    default: return 6; /* F4E2M1 */
    }
}

/* Returns the largest n for which the type has all whole numbers from 0 to n; -1 if it lacks 0. */
static float largest_whole_number(rung_type type)
{
    switch (type) {
    case RUNG_F32:
    case RUNG_F64: return 0x1p24f; /* zero points are computed as F32 */
    case RUNG_F16: return 2048;
    case RUNG_BF16: return 256;
    case RUNG_F8E4M3: return 16;
    case RUNG_F8E5M2: return 8;
    case RUNG_F4E2M1: return 4;
    case RUNG_E8M0: return -1;
    default: return largest_element(type);
    }
}

/* Returns the exponent of the largest number, by which an E8M0 scale is lowered. */
static int largest_exponent(rung_type type)
{
    int exponent;
    frexpf(largest_element(type), &exponent);
    return exponent - 1;
}

static void write_code(rung_type type, uint8_t *data, int64_t index, uint8_t code)
{
    if (rung_type_block_elements(type) == 1) {
        data[index] = code;
        return;
    }
    unsigned shift = (unsigned)(index % 2 * 4);
    data[index / 2] = (uint8_t)((data[index / 2] & ~(15u << shift)) | (unsigned)code << shift);
}

/* Rounds to nearest; numbers beyond the range of the type become its largest or smallest. */
static uint8_t encode(rung_type type, float value)
{
    float largest = largest_element(type), least = is_unsigned(type) ? 0 : -largest;
    if (type == RUNG_F8E4M3)
        return rungi_f8e4m3_from_f32(value);
    if (type == RUNG_F8E5M2)
        return rungi_f8e5m2_from_f32(value);
    if (type == RUNG_F4E2M1)
        return rungi_f4e2m1_from_f32(value);
    int rounded = (int)fminf(fmaxf(rintf(value), least), largest);
    return (uint8_t)(type == RUNG_I4 ? rounded & 15 : rounded);
}

static void write_value(const rung_matrix *matrix, int64_t index, float value)
{
    switch (matrix->type) {
    case RUNG_F32: ((float *)matrix->data)[index] = value; break;
    case RUNG_F64: ((double *)matrix->data)[index] = (double)value; break;
    case RUNG_F16: ((uint16_t *)matrix->data)[index] = rungi_f16_from_f32(value); break;
    case RUNG_BF16: ((uint16_t *)matrix->data)[index] = rungi_bf16_from_f32(value); break;
    case RUNG_E8M0: ((uint8_t *)matrix->data)[index] = rungi_e8m0_from_f32(value); break;
    default: write_code(matrix->type, matrix->data, index, encode(matrix->type, value));
    }
}

/* ---- Checks ---------------------------------------------------------------------------------------------------- */

/* Checks a view of host memory whose elements have any type. */
static rung_status check_host_view(const char *name, const rung_matrix *matrix)
{
    int64_t span, bytes;
    if (matrix->rows < 0 || matrix->cols < 0 || matrix->row_stride < 0 || matrix->col_stride < 0 || matrix->offset < 0)
        return rungi_invalid("%s is %lld x %lld with strides %lld, %lld and offset %lld; none may be negative", name,
                             (long long)matrix->rows, (long long)matrix->cols, (long long)matrix->row_stride,
                             (long long)matrix->col_stride, (long long)matrix->offset);
    if (matrix->buffer)
        return rungi_invalid("%s is in a buffer; copy it to host memory first (rung_buffer_read)", name);
    if (!rungi_matrix_is_empty(matrix) && !matrix->data)
        return rungi_invalid("%s has no data", name);
    if (!rungi_matrix_span(matrix, &span) || !rungi_checked_add(span, matrix->offset, &span) ||
        !rungi_checked_multiply(span, 8, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "%s, %lld x %lld with strides %lld and %lld, does not fit the address space", name,
                          (long long)matrix->rows, (long long)matrix->cols, (long long)matrix->row_stride,
                          (long long)matrix->col_stride);
    int64_t size = rungi_type_alignment(matrix->type);
    if (size > 1 && (uintptr_t)matrix->data % (uintptr_t)size != 0)
        return rungi_invalid("the memory of %s is not aligned to %lld bytes", name, (long long)size);
    return RUNG_OK;
}

/* Returns whether no two elements are the same. */
static bool is_distinct(const rung_matrix *matrix)
{
    bool by_rows = matrix->col_stride <= matrix->row_stride;
    int64_t inner = by_rows ? matrix->cols : matrix->rows, outer = by_rows ? matrix->rows : matrix->cols;
    int64_t inner_stride = by_rows ? matrix->col_stride : matrix->row_stride;
    int64_t outer_stride = by_rows ? matrix->row_stride : matrix->col_stride;
    return (inner <= 1 || inner_stride > 0) && (outer <= 1 || outer_stride > (inner - 1) * inner_stride);
}

/* Returns the bytes from the first element to the end of the last. */
static uintptr_t span_bytes(const rung_matrix *matrix)
{
    int64_t span;
    (void)rungi_matrix_span(matrix, &span);
    return (uintptr_t)(span > 0 ? rungi_matrix_span_bytes(matrix, span) : 0);
}

static bool do_overlap(const rung_matrix *a, const rung_matrix *b)
{
    uintptr_t first_a = rungi_matrix_address(a), first_b = rungi_matrix_address(b);
    uintptr_t bytes_a = span_bytes(a), bytes_b = span_bytes(b);
    return bytes_a > 0 && bytes_b > 0 && first_a < first_b + bytes_b && first_b < first_a + bytes_a;
}

/* Checks a narrow view and reads its rung_quantization, which may be NULL for none. Its block sizes are set. */
static rung_status read_quantization(const rung_matrix *narrow, const rung_quantization *given,
                                     rung_quantization *quantization)
{
    TRY(rungi_quantization_read(given, quantization));
    TRY(rungi_quantization_check_blocks(narrow, quantization));
    rungi_quantization_set_block_size(narrow, quantization);
    if (rungi_type_has_scales(narrow->type))
        return rungi_matrix_check_blocks("the quantized matrix", narrow);
    if (!rungi_matrix_is_absent(&quantization->scales))
        TRY(check_host_view("the scales", &quantization->scales));
    return rungi_matrix_is_absent(&quantization->zero_points)
               ? RUNG_OK
               : check_host_view("the zero points", &quantization->zero_points);
}

static rung_status check_views(const rung_matrix *wide, const rung_matrix *narrow)
{
    if ((int)wide->type <= RUNG_TYPE_NONE || (int)wide->type >= RUNGI_TYPE_COUNT || !rungi_type_is_wide(wide->type))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "the floating-point matrix has type %s; use f32, f64, f16 or bf16",
                          rung_type_name(wide->type));
    if ((int)narrow->type <= RUNG_TYPE_NONE || (int)narrow->type >= RUNGI_TYPE_COUNT ||
        !(rungi_type_is_narrow(narrow->type) || rungi_type_has_scales(narrow->type)))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the quantized matrix has type %s; use q8_0, q4_0, i8, u8, i4, u4, f8e4m3, f8e5m2 or f4e2m1",
                          rung_type_name(narrow->type));
    TRY(check_host_view("the floating-point matrix", wide));
    TRY(check_host_view("the quantized matrix", narrow));
    if (wide->rows != narrow->rows || wide->cols != narrow->cols)
        return rungi_invalid(
            "the floating-point matrix is %lld x %lld, the quantized one %lld x %lld; they must be equal",
            (long long)wide->rows, (long long)wide->cols, (long long)narrow->rows, (long long)narrow->cols);
    if (do_overlap(wide, narrow))
        return rungi_invalid("the floating-point matrix and the quantized one overlap");
    return RUNG_OK;
}

/* Checks that the values to quantize are finite, and finds the largest magnitude. */
static rung_status check_finite(const rung_matrix *wide, float *largest)
{
    *largest = 0;
    for (int64_t i = 0; i < wide->rows; i++)
        for (int64_t j = 0; j < wide->cols; j++) {
            float value = rungi_element_read(wide, rungi_element_index(wide, i, j));
            if (!isfinite(value))
                return rungi_invalid("element (%lld, %lld) is %g as F32; only finite numbers can be quantized",
                                     (long long)i, (long long)j, (double)value);
            *largest = fmaxf(*largest, fabsf(value));
        }
    return RUNG_OK;
}

/* ---- GGML's blocks ------------------------------------------------------------------------------------- */

typedef rung_status visit_ggml_block_t(const rung_matrix *wide, const rung_matrix *narrow, int64_t i, int64_t j,
                                       bool by_rows);

static int64_t wide_index(const rung_matrix *wide, int64_t i, int64_t j, bool by_rows, int64_t element)
{
    return by_rows ? rungi_element_index(wide, i, j + element) : rungi_element_index(wide, i + element, j);
}

static void *ggml_block_at(const rung_matrix *narrow, int64_t i, int64_t j)
{
    return (char *)narrow->data +
           rungi_element_index(narrow, i, j) / RUNGI_GGML_BLOCK_ELEMENTS * rung_type_block_bytes(narrow->type);
}

static void encode_ggml_block(const rung_matrix *wide, rung_type type, int64_t i, int64_t j, bool by_rows, void *block)
{
    float values[RUNGI_GGML_BLOCK_ELEMENTS];
    for (int64_t e = 0; e < RUNGI_GGML_BLOCK_ELEMENTS; e++)
        values[e] = rungi_element_read(wide, wide_index(wide, i, j, by_rows, e));
    if (type == RUNG_Q8_0)
        rungi_q8_0_quantize(values, block);
    else
        rungi_q4_0_quantize(values, block);
}

/* Checks that the scale of a block is finite, and writes nothing. */
static rung_status check_ggml_block(const rung_matrix *wide, const rung_matrix *narrow, int64_t i, int64_t j,
                                    bool by_rows)
{
    uint16_t block[sizeof(rungi_q8_0_block) / sizeof(uint16_t)]; /* the longer one; the scale comes first */
    encode_ggml_block(wide, narrow->type, i, j, by_rows, block);
    if (isfinite(rungi_f16_to_f32(block[0])))
        return RUNG_OK;
    return rungi_invalid("the values of the block at (%lld, %lld) are too large for an F16 scale, which %s has; use i8 "
                         "or i4 with scales of type f32, or divide the values by a number and multiply alpha by it",
                         (long long)i, (long long)j, rung_type_name(narrow->type));
}

static rung_status quantize_ggml_block(const rung_matrix *wide, const rung_matrix *narrow, int64_t i, int64_t j,
                                       bool by_rows)
{
    encode_ggml_block(wide, narrow->type, i, j, by_rows, ggml_block_at(narrow, i, j));
    return RUNG_OK;
}

static rung_status dequantize_ggml_block(const rung_matrix *wide, const rung_matrix *narrow, int64_t i, int64_t j,
                                         bool by_rows)
{
    float values[RUNGI_GGML_BLOCK_ELEMENTS];
    if (narrow->type == RUNG_Q8_0)
        rungi_q8_0_dequantize(ggml_block_at(narrow, i, j), values);
    else
        rungi_q4_0_dequantize(ggml_block_at(narrow, i, j), values);
    for (int64_t e = 0; e < RUNGI_GGML_BLOCK_ELEMENTS; e++)
        write_value(wide, wide_index(wide, i, j, by_rows, e), values[e]);
    return RUNG_OK;
}

static rung_status visit_ggml_blocks(const rung_matrix *wide, const rung_matrix *narrow, visit_ggml_block_t *visit)
{
    bool by_rows = rungi_matrix_has_blocks_in_rows(narrow);
    int64_t row_step = by_rows ? 1 : RUNGI_GGML_BLOCK_ELEMENTS, col_step = by_rows ? RUNGI_GGML_BLOCK_ELEMENTS : 1;
    for (int64_t i = 0; i < narrow->rows; i += row_step)
        for (int64_t j = 0; j < narrow->cols; j += col_step)
            TRY(visit(wide, narrow, i, j, by_rows));
    return RUNG_OK;
}

/* ---- Blocks with scales ----------------------------------------------------------------------------------- */

/* A block of elements, rows i ... end_i - 1 and columns j ... end_j - 1, and its scale and zero point. */
typedef struct scaled_block {
    int64_t i, j, end_i, end_j;
    int64_t row, col;  /* of its scale */
    float least, most; /* of its values and 0 */
    float scale, zero_point;
} scaled_block_t;

/* Reads the scale and the zero point. */
static void read_scale(const rung_quantization *quantization, scaled_block_t *block)
{
    const rung_matrix *scales = &quantization->scales, *zeros = &quantization->zero_points;
    block->scale = rungi_matrix_is_absent(scales)
                       ? 1
                       : rungi_element_read(scales, rungi_element_index(scales, block->row, block->col));
    block->zero_point = rungi_matrix_is_absent(zeros)
                            ? 0
                            : rungi_element_read(zeros, rungi_element_index(zeros, block->row, block->col));
}

/* Finds the smallest and the largest value of a block and 0. */
static void find_range(const rung_matrix *wide, scaled_block_t *block)
{
    block->least = block->most = 0;
    for (int64_t i = block->i; i < block->end_i; i++)
        for (int64_t j = block->j; j < block->end_j; j++) {
            float value = rungi_element_read(wide, rungi_element_index(wide, i, j));
            block->least = fminf(block->least, value);
            block->most = fmaxf(block->most, value);
        }
}

/* Returns the scale that maps the range of a block to the range of the type. An E8M0 scale follows the OCP specification: it
 * is 2 to the exponent of the largest value, less that of the type's largest number. */
static float compute_scale(const rung_matrix *narrow, const rung_quantization *quantization,
                           const scaled_block_t *block)
{
    bool has_zero_point = !rungi_matrix_is_absent(&quantization->zero_points);
    float size = fmaxf(-block->least, block->most);
    if (quantization->scales.type == RUNG_E8M0)
        return ldexpf(rungi_e8m0_to_f32(rungi_e8m0_from_f32(size)), -largest_exponent(narrow->type));
    return (has_zero_point ? block->most - block->least : size) / largest_element(narrow->type);
}

/* Returns a number as a type stores it. */
static float round_to(rung_type type, float value)
{
    union {
        double f64;
        float f32;
        uint16_t f16;
        uint8_t code;
    } memory = {.f64 = 0};
    rung_matrix view = rung_matrix_of(type, 1, 1, &memory);
    write_value(&view, 0, value);
    return rungi_element_read(&view, 0);
}

/* Chooses the scale and the zero point of a block, rounded to their types. */
static void choose_scale(const rung_matrix *wide, const rung_matrix *narrow, const rung_quantization *quantization,
                         scaled_block_t *block)
{
    const rung_matrix *scales = &quantization->scales, *zeros = &quantization->zero_points;
    find_range(wide, block);
    block->scale = rungi_matrix_is_absent(scales) ? 1
                                                  : round_to(scales->type, compute_scale(narrow, quantization, block));
    block->zero_point = 0;
    if (!rungi_matrix_is_absent(zeros) && block->scale > 0)
        block->zero_point = round_to(zeros->type,
                                     fminf(rintf(-block->least / block->scale), largest_element(narrow->type)));
}

/* Checks that the scale of a block and its products with all elements are finite, and writes nothing. */
static rung_status check_block(const rung_matrix *wide, const rung_matrix *narrow,
                               const rung_quantization *quantization, scaled_block_t *block)
{
    float largest = largest_element(narrow->type), smallest = is_unsigned(narrow->type) ? 0 : -largest;
    choose_scale(wide, narrow, quantization, block);
    float size = fmaxf(fabsf(largest - block->zero_point), fabsf(smallest - block->zero_point));
    if (isfinite(block->scale) && isfinite(block->scale * size))
        return RUNG_OK;
    return rungi_invalid(
        "the values of the block at (%lld, %lld), from %g to %g, are too large for a scale of type %s; "
        "use scales of type f32, or divide the values by a number and multiply alpha by it",
        (long long)block->i, (long long)block->j, (double)block->least, (double)block->most,
        rung_type_name(quantization->scales.type));
}

/* Stores the scale and the zero point of a block. */
static void write_scale(const rung_quantization *quantization, const scaled_block_t *block)
{
    const rung_matrix *scales = &quantization->scales, *zeros = &quantization->zero_points;
    if (!rungi_matrix_is_absent(scales))
        write_value(scales, rungi_element_index(scales, block->row, block->col), block->scale);
    if (!rungi_matrix_is_absent(zeros))
        write_value(zeros, rungi_element_index(zeros, block->row, block->col), block->zero_point);
}

static rung_status quantize_block(const rung_matrix *wide, const rung_matrix *narrow,
                                  const rung_quantization *quantization, scaled_block_t *block)
{
    choose_scale(wide, narrow, quantization, block);
    write_scale(quantization, block);
    for (int64_t i = block->i; i < block->end_i; i++)
        for (int64_t j = block->j; j < block->end_j; j++) {
            float value = rungi_element_read(wide, rungi_element_index(wide, i, j)),
                  multiple = block->scale > 0 ? value / block->scale : 0;
            write_code(narrow->type, narrow->data, rungi_element_index(narrow, i, j),
                       encode(narrow->type, multiple + block->zero_point));
        }
    return RUNG_OK;
}

static rung_status dequantize_block(const rung_matrix *wide, const rung_matrix *narrow,
                                    const rung_quantization *quantization, scaled_block_t *block)
{
    read_scale(quantization, block);
    for (int64_t i = block->i; i < block->end_i; i++)
        for (int64_t j = block->j; j < block->end_j; j++)
            write_value(wide, rungi_element_index(wide, i, j),
                        block->scale *
                            (rungi_element_read(narrow, rungi_element_index(narrow, i, j)) - block->zero_point));
    return RUNG_OK;
}

typedef rung_status visit_block_t(const rung_matrix *wide, const rung_matrix *narrow,
                                  const rung_quantization *quantization, scaled_block_t *block);

static rung_status visit_blocks(const rung_matrix *wide, const rung_matrix *narrow,
                                const rung_quantization *quantization, visit_block_t *visit)
{
    int64_t rows = quantization->block_rows, cols = quantization->block_cols;
    for (int64_t i = 0; i < narrow->rows; i += rows)
        for (int64_t j = 0; j < narrow->cols; j += cols) {
            scaled_block_t block = {.i = i,
                                    .j = j,
                                    .end_i = rungi_min(i + rows, narrow->rows),
                                    .end_j = rungi_min(j + cols, narrow->cols),
                                    .row = i / rows,
                                    .col = j / cols};
            TRY(visit(wide, narrow, quantization, &block));
        }
    return RUNG_OK;
}

/* ---- Public functions --------------------------------------------------------------------------------------- */

/* Checks that no output of rung_quantize() (elements, scales, zero points) overlaps itself, another output or the input. */
static rung_status check_outputs(const rung_matrix *wide, const rung_matrix *narrow,
                                 const rung_quantization *quantization)
{
    const rung_matrix *outputs[] = {narrow, &quantization->scales, &quantization->zero_points};
    static const char *const names[] = {"the quantized matrix", "the scales", "the zero points"};
    for (int i = 0; i < 3; i++) {
        if (rungi_matrix_is_absent(outputs[i]))
            continue;
        if (!is_distinct(outputs[i]))
            return rungi_invalid("%s have overlapping elements; use strides that separate all of them", names[i]);
        if (i > 0 && do_overlap(outputs[i], wide))
            return rungi_invalid("%s overlap the floating-point matrix", names[i]);
        for (int j = 0; j < i; j++)
            if (!rungi_matrix_is_absent(outputs[j]) && do_overlap(outputs[i], outputs[j]))
                return rungi_invalid("%s overlap %s", names[i], names[j]);
    }
    return RUNG_OK;
}

/* Checks that every zero point of the elements can be stored. */
static rung_status check_zero_point_type(const rung_matrix *narrow, const rung_matrix *zeros)
{
    if (rungi_matrix_is_absent(zeros) || largest_whole_number(zeros->type) >= largest_element(narrow->type))
        return RUNG_OK;
    return rungi_fail(
        RUNG_STATUS_UNSUPPORTED,
        "the zero points have type %s, which lacks some of the whole numbers from 0 to %g that elements of "
        "type %s need; use %s or f32",
        rung_type_name(zeros->type), (double)largest_element(narrow->type), rung_type_name(narrow->type),
        largest_whole_number(narrow->type) < largest_element(narrow->type) ? "f64" : rung_type_name(narrow->type));
}

rung_status rung_quantize(rung_matrix from, rung_matrix to, const rung_quantization *quantization)
{
    const float always_in_range = 16384; /* of every type of scales that has infinities */
    bool has_scales = rungi_type_has_scales(to.type);
    rung_quantization read;
    float largest;
    TRY(check_views(&from, &to));
    TRY(read_quantization(&to, quantization, &read));
    TRY(check_zero_point_type(&to, &read.zero_points));
    TRY(check_outputs(&from, &to, &read));
    if (rungi_matrix_is_empty(&to)) /* perhaps with 2^60 rows, which no loop can visit */
        return RUNG_OK;
    TRY(check_finite(&from, &largest));
    if (largest > always_in_range)
        TRY(has_scales ? visit_ggml_blocks(&from, &to, check_ggml_block)
                       : visit_blocks(&from, &to, &read, check_block));
    if (has_scales)
        return visit_ggml_blocks(&from, &to, quantize_ggml_block);
    return visit_blocks(&from, &to, &read, quantize_block);
}

rung_status rung_dequantize(rung_matrix from, const rung_quantization *quantization, rung_matrix to)
{
    rung_quantization read;
    TRY(check_views(&to, &from));
    TRY(read_quantization(&from, quantization, &read));
    if (!is_distinct(&to))
        return rungi_invalid(
            "the floating-point matrix has overlapping elements; use strides that separate all of them");
    if (rungi_matrix_is_empty(&to))
        return RUNG_OK;
    if (rungi_type_has_scales(from.type))
        return visit_ggml_blocks(&to, &from, dequantize_ggml_block);
    return visit_blocks(&to, &from, &read, dequantize_block);
}
