/* SPDX-License-Identifier: Apache-2.0 */
/* quantization.c - see quantization.h. */
#include "core/quantization.h"

#include "base/error.h"
#include "base/float4.h"
#include "base/float8.h"
#include "base/try.h"
#include "base/versioned_struct.h"

static float decode(rung_type type, uint8_t code)
{
    switch (type) {
    case RUNG_I8: return (int8_t)code;
    case RUNG_I4: return (float)((code ^ 8) - 8);
    case RUNG_U8:
    case RUNG_U4: return code;
    case RUNG_F8E4M3: return rungi_f8e4m3_to_f32(code);
    case RUNG_F8E5M2: return rungi_f8e5m2_to_f32(code);
    case RUNG_E8M0: return rungi_e8m0_to_f32(code);
    default: return rungi_f4e2m1_to_f32(code);
    }
}

/* Returns the bits of element number `index`. */
static uint8_t read_code(rung_type type, const uint8_t *data, int64_t index)
{
    if (rung_type_block_elements(type) == 1)
        return data[index];
    return (uint8_t)(data[index / 2] >> (index % 2 * 4) & 15);
}

float rungi_element_read(const rung_matrix *matrix, int64_t index)
{
    uint16_t half;
    switch (matrix->type) {
    case RUNG_F32: return ((const float *)matrix->data)[index];
    case RUNG_F64: return (float)((const double *)matrix->data)[index];
    case RUNG_F16: half = ((const uint16_t *)matrix->data)[index]; return rungi_f16_to_f32(half);
    case RUNG_BF16: half = ((const uint16_t *)matrix->data)[index]; return rungi_bf16_to_f32(half);
    default: return decode(matrix->type, read_code(matrix->type, matrix->data, index));
    }
}

rung_status rungi_quantization_read(const rung_quantization *given, rung_quantization *quantization)
{
    return rungi_versioned_options_read(given, quantization, sizeof *quantization, "rung_quantization",
                                        "rung_quantization_default");
}

void rungi_quantization_set_block_size(const rung_matrix *matrix, rung_quantization *quantization)
{
    if (quantization->block_rows == 0)
        quantization->block_rows = rungi_max(matrix->rows, 1);
    if (quantization->block_cols == 0)
        quantization->block_cols = rungi_max(matrix->cols, 1);
}

/* Checks scales or zero points. */
static rung_status check_blocks(const char *name, const rung_matrix *blocks, const rung_matrix *matrix,
                                const rung_quantization *sizes)
{
    if (rungi_matrix_is_absent(blocks))
        return RUNG_OK;
    if (!rungi_type_is_wide(blocks->type) && !rungi_type_is_narrow(blocks->type) && blocks->type != RUNG_E8M0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s have type %s; use f32, f16, bf16, f8e4m3 or e8m0", name,
                          rung_type_name(blocks->type));
    int64_t rows = rungi_ceil_divide(matrix->rows, sizes->block_rows);
    int64_t cols = rungi_ceil_divide(matrix->cols, sizes->block_cols);
    if (blocks->rows != rows || blocks->cols != cols)
        return rungi_invalid(
            "%s are %lld x %lld; blocks of %lld x %lld elements of a %lld x %lld matrix need %lld x %lld", name,
            (long long)blocks->rows, (long long)blocks->cols, (long long)sizes->block_rows,
            (long long)sizes->block_cols, (long long)matrix->rows, (long long)matrix->cols, (long long)rows,
            (long long)cols);
    return RUNG_OK;
}

rung_status rungi_quantization_check_blocks(const rung_matrix *matrix, const rung_quantization *quantization)
{
    rung_quantization sizes = *quantization;
    bool is_absent = rungi_matrix_is_absent(&sizes.scales) && rungi_matrix_is_absent(&sizes.zero_points);
    if (rungi_type_has_scales(matrix->type) && !is_absent)
        return rungi_invalid("%s holds its own scales; pass no rung_quantization", rung_type_name(matrix->type));
    if (sizes.block_rows < 0 || sizes.block_cols < 0)
        return rungi_invalid("a block has %lld x %lld elements; use 0 for all rows or all columns",
                             (long long)sizes.block_rows, (long long)sizes.block_cols);
    rungi_quantization_set_block_size(matrix, &sizes);
    TRY(check_blocks("the scales", &sizes.scales, matrix, &sizes));
    return check_blocks("the zero points", &sizes.zero_points, matrix, &sizes);
}

rung_status rungi_quantization_check_in_memory(const char *name, const rung_quantization *given)
{
    rung_quantization quantization;
    if (!given)
        return RUNG_OK;
    TRY(rungi_quantization_read(given, &quantization));
    if (quantization.scales.buffer || quantization.zero_points.buffer)
        return rungi_invalid(
            "the %s of %s are in a buffer, and this call takes matrices in memory; copy them to memory, "
            "or create a plan and run it on a queue",
            quantization.scales.buffer ? "scales" : "zero points", name);
    return RUNG_OK;
}

bool rungi_quantization_has_same_form(const rung_quantization *x, const rung_quantization *y, int64_t batch)
{
    rung_quantization first, second;
    if (!x || !y)
        return x == y;
    return rungi_quantization_read(x, &first) == RUNG_OK && rungi_quantization_read(y, &second) == RUNG_OK &&
           first.block_rows == second.block_rows && first.block_cols == second.block_cols &&
           rungi_matrix_has_same_form(&first.scales, &second.scales, batch) &&
           rungi_matrix_has_same_form(&first.zero_points, &second.zero_points, batch);
}
