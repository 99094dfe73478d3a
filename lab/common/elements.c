/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - see elements.h. */
#include "common/elements.h"

#include <math.h>
#include <string.h>

bool lab_type_is_integer(rung_type type)
{
    return type == RUNG_I8 || type == RUNG_I32;
}

bool lab_type_is_quantized(rung_type type)
{
    return rung_type_block_elements(type) > 2; /* two elements of a 4-bit type share a byte, but no scale */
}

bool lab_type_is_narrow(rung_type type)
{
    return type == RUNG_I8 || (type >= RUNG_U8 && type <= RUNG_F4E2M1);
}

int64_t lab_type_bytes(rung_type type, int64_t elements)
{
    int64_t block = rung_type_block_elements(type);
    return block > 0 ? (elements + block - 1) / block * rung_type_block_bytes(type) : 0;
}

bool lab_type_is_f8(rung_type type)
{
    return type == RUNG_F8E4M3 || type == RUNG_F8E5M2;
}

double lab_type_exact_integer_max(rung_type type)
{
    switch (type) {
    case RUNG_F64: return 0x1p53;
    case RUNG_F16: return 0x1p11;
    case RUNG_BF16: return 0x1p8;
    case RUNG_I8: return 0x1p7;
    case RUNG_F8E4M3: return 0x1p4;
    case RUNG_F8E5M2: return 0x1p3;
    case RUNG_I32: return 0x1p31;
    default: return 0x1p24; /* RUNG_F32 */
    }
}

rung_matrix lab_batch_item(const rung_matrix *matrix, int64_t item)
{
    rung_matrix view = *matrix;
    view.offset += matrix->batch_offsets ? matrix->batch_offsets[item] : item * matrix->batch_stride;
    view.batch_stride = 0;
    view.batch_offsets = NULL;
    return view;
}

static char *element_at(const rung_matrix *matrix, int64_t row, int64_t col)
{
    int64_t index = matrix->offset + row * matrix->row_stride + col * matrix->col_stride;
    return (char *)matrix->data + index * rung_type_size(matrix->type);
}

/* Return and set an element of a type that only a quantized B has, as U8 or a 4-bit type: the nearest number of the type, and 1
 * for what is not finite. */
static double narrow_element_get(const rung_matrix *matrix, int64_t row, int64_t col)
{
    float value = 0;
    rung_status status = rung_dequantize(rung_matrix_block(*matrix, row, col, 1, 1), NULL,
                                         rung_matrix_of(RUNG_F32, 1, 1, &value));
    return status == RUNG_OK ? (double)value : (double)NAN;
}

static void narrow_element_set(const rung_matrix *matrix, int64_t row, int64_t col, double value)
{
    float finite = isfinite(value) ? (float)value : 1;
    (void)rung_quantize(rung_matrix_of(RUNG_F32, 1, 1, &finite), rung_matrix_block(*matrix, row, col, 1, 1), NULL);
}

double lab_element_get(const rung_matrix *matrix, int64_t row, int64_t col)
{
    const char *at = element_at(matrix, row, col);
    union {
        float f32;
        double f64;
        uint16_t bits;
        int32_t i32;
    } value;
    switch (matrix->type) {
    case RUNG_F32: memcpy(&value, at, 4); return value.f32;
    case RUNG_F64: memcpy(&value, at, 8); return value.f64;
    case RUNG_F16: memcpy(&value, at, 2); return rung_f16_to_f32(value.bits);
    case RUNG_BF16: memcpy(&value, at, 2); return rung_bf16_to_f32(value.bits);
    case RUNG_I8: return (int8_t)*at;
    case RUNG_F8E4M3: return rung_f8e4m3_to_f32((uint8_t)*at);
    case RUNG_F8E5M2: return rung_f8e5m2_to_f32((uint8_t)*at);
    case RUNG_I32: memcpy(&value, at, 4); return value.i32;
    case RUNG_U8:
    case RUNG_I4:
    case RUNG_U4:
    case RUNG_F4E2M1: return narrow_element_get(matrix, row, col);
    default: break; /* an absent matrix */
    }
    return 0;
}

/* Converts to an integer; NaN becomes -1, since its conversion is undefined in C. */
static int32_t integer_of(double value)
{
    return isnan(value) ? -1 : (int32_t)value;
}

void lab_element_set(const rung_matrix *matrix, int64_t row, int64_t col, double value)
{
    char *to = element_at(matrix, row, col);
    switch (matrix->type) {
    case RUNG_F32: memcpy(to, &(float){(float)value}, 4); break;
    case RUNG_F64: memcpy(to, &value, 8); break;
    case RUNG_F16: memcpy(to, &(uint16_t){rung_f16_from_f32((float)value)}, 2); break;
    case RUNG_BF16: memcpy(to, &(uint16_t){rung_bf16_from_f32((float)value)}, 2); break;
    case RUNG_I8: *to = (char)(int8_t)integer_of(value); break;
    case RUNG_F8E4M3: *to = (char)rung_f8e4m3_from_f32((float)value); break;
    case RUNG_F8E5M2: *to = (char)rung_f8e5m2_from_f32((float)value); break;
    case RUNG_I32: memcpy(to, &(int32_t){integer_of(value)}, 4); break;
    case RUNG_U8:
    case RUNG_I4:
    case RUNG_U4:
    case RUNG_F4E2M1: narrow_element_set(matrix, row, col, value); break;
    default: break;
    }
}

/* ---- Blocks ------------------------------------------------------------------------------------------------ */

void lab_blocks_set(const rung_matrix *matrix, int64_t row, int64_t col, int64_t count, const float *values)
{
    rung_matrix blocks = rung_matrix_block(*matrix, row, col, count, 1);
    if (rung_quantize(rung_matrix_of(RUNG_F32, count, 1, values), blocks, NULL) != RUNG_OK)
        memset((char *)matrix->data + lab_type_bytes(matrix->type, blocks.offset), 0xff,
               (size_t)lab_type_bytes(matrix->type, count));
}

void lab_blocks_get(const rung_matrix *matrix, int64_t row, int64_t col, int64_t count, float *values)
{
    rung_matrix blocks = rung_matrix_block(*matrix, row, col, count, 1);
    if (rung_dequantize(blocks, NULL, rung_matrix_of(RUNG_F32, count, 1, values)) == RUNG_OK)
        return;
    for (int64_t i = 0; i < count; i++)
        values[i] = NAN;
}

void lab_fill_blocks(const rung_matrix *matrix, double (*value)(uint64_t seed, uint64_t stream, uint64_t index),
                     uint64_t seed, uint64_t stream, uint64_t *index)
{
    int64_t block = rung_type_block_elements(matrix->type);
    float values[LAB_BLOCK_MAX];
    for (int64_t col = 0; col < matrix->cols; col++)
        for (int64_t row = 0; row < matrix->rows; row += block) {
            for (int64_t i = 0; i < block; i++)
                values[i] = (float)value(seed, stream, (*index)++);
            lab_blocks_set(matrix, row, col, block, values);
        }
}
