/* SPDX-License-Identifier: Apache-2.0 */
/* soak_check.c - see soak_check.h. Matrices whose scales lie in another matrix are dequantized here, not by the library. */
#include "soak_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/elements.h"

/* ---- Dequantizing ---------------------------------------------------------------------------------------------- */

/* Returns the value of a number with `exponent_bits` and `mantissa_bits`. */
static float small_float(unsigned code, int exponent_bits, int mantissa_bits, int bias)
{
    unsigned mantissa = code & ((1U << mantissa_bits) - 1),
             exponent = code >> mantissa_bits & ((1U << exponent_bits) - 1);
    bool is_negative = code >> (mantissa_bits + exponent_bits) & 1;
    double fraction = ldexp(mantissa, -mantissa_bits);
    double value = exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, (int)exponent - bias);
    return (float)(is_negative ? -value : value);
}

static float e5m2_value(unsigned code)
{
    bool is_special = (code & 0x7c) == 0x7c;
    return !is_special ? small_float(code, 5, 2, 15) : code & 3 ? NAN : code & 128 ? -INFINITY : INFINITY;
}

static float code_value(rung_type type, unsigned code)
{
    switch (type) {
    case RUNG_I8: return (float)(int8_t)code;
    case RUNG_I4: return (float)((int)(code ^ 8) - 8);
    case RUNG_F8E4M3: return (code & 0x7f) == 0x7f ? NAN : small_float(code, 4, 3, 7);
    case RUNG_F8E5M2: return e5m2_value(code);
    case RUNG_F4E2M1: return small_float(code, 2, 1, 1);
    case RUNG_E8M0: return code == 255 ? NAN : (float)ldexp(1, (int)code - 127);
    default: return (float)code; /* U8, U4 */
    }
}

/* Returns an element of any type without blocks, as F32. */
static float element_value(const rung_matrix *view, int64_t row, int64_t col)
{
    int64_t index = view->offset + row * view->row_stride + col * view->col_stride;
    const unsigned char *bytes = view->data;
    if (!soak_type_is_narrow(view->type) && view->type != RUNG_E8M0)
        return (float)lab_element_get(view, row, col);
    bool has_pairs = rung_type_block_elements(view->type) == 2;
    unsigned code = bytes[has_pairs ? index / 2 : index];
    return code_value(view->type, has_pairs ? code >> (index % 2 * 4) & 15U : code);
}

static int64_t block_of(int64_t index, int64_t block)
{
    return block > 0 ? index / block : 0;
}

/* Reports whether the oracle gets a dense F32 matrix in place of a matrix of this type. It reads the others itself. */
static bool is_dequantized(const soak_case *subject, rung_type type)
{
    bool has_scales = soak_format_is_present(&subject->a_format) || soak_format_is_present(&subject->b_format);
    return soak_type_is_narrow(type) && !lab_type_is_integer(subject->product.out) &&
           (lab_type_pair_is_mixed(subject->product) || has_scales);
}

/* Returns the values of a matrix, or an absent view if there is no memory. */
static rung_matrix dequantize(const soak_case *subject, const rung_matrix *view, const rung_quantization *quantization)
{
    int64_t items = soak_items(subject), size = view->rows * view->cols;
    float *values = malloc((size_t)(items * size) * sizeof *values + 1);
    rung_matrix dense = rung_matrix_of(RUNG_F32, view->rows, view->cols, values);
    dense.batch_stride = size;
    for (int64_t i = 0; values && i < items; i++) {
        rung_matrix item = lab_batch_item(view, i), scales = lab_batch_item(&quantization->scales, i),
                    zeros = lab_batch_item(&quantization->zero_points, i);
        for (int64_t row = 0; row < item.rows; row++)
            for (int64_t col = 0; col < item.cols; col++) {
                int64_t block_row = block_of(row, quantization->block_rows);
                int64_t block_col = block_of(col, quantization->block_cols);
                float zero = zeros.data ? element_value(&zeros, block_row, block_col) : 0;
                float scale = scales.data ? element_value(&scales, block_row, block_col) : 1;
                values[i * size + row * item.cols + col] = scale * (element_value(&item, row, col) - zero);
            }
    }
    return dense;
}

/* ---- The check ------------------------------------------------------------------------------------------------- */

/* Returns whether all sums are integers that the types represent. Elements are integers from -8 to 8. */
static bool is_exact(const soak_case *subject)
{
    rung_type sum = lab_type_pair_accumulator(subject->product);
    double alpha = subject->alpha, beta = subject->beta;
    double largest = 64.0 * (double)subject->k * fabs(alpha) + 8 * fabs(beta) + 8;
    if (subject->has[SOAK_OPERAND_multiplier])
        largest *= 8;
    double limit = fmin(lab_type_exact_integer_max(sum), lab_type_exact_integer_max(subject->product.out));
    rung_type b = lab_type_pair_b(subject->product);
    bool has_codes = soak_type_is_narrow(subject->product.in) || soak_type_is_narrow(b) || lab_type_is_quantized(b);
    return subject->content == LAB_CONTENT_SMALL_INTEGERS && !has_codes && alpha == floor(alpha) &&
           beta == floor(beta) && subject->activation <= RUNG_ACTIVATION_RELU && largest + 8 < limit;
}

bool soak_result_is_right(const soak_case *subject, const soak_data *data, lab_accuracy accuracy, char *message,
                          size_t capacity)
{
    rung_problem checked = data->problem;
    rung_matrix before = data->views[SOAK_OPERAND_c];
    const soak_memory *memory = &data->memory[data->home[SOAK_OPERAND_c]];
    checked.a_quantization = checked.b_quantization = NULL;
    bool is_a_dense = is_dequantized(subject, checked.a.type), is_b_dense = is_dequantized(subject, checked.b.type);
    if (is_a_dense)
        checked.a = dequantize(subject, &data->problem.a, &data->a_quantization);
    if (is_b_dense)
        checked.b = dequantize(subject, &data->problem.b, &data->b_quantization);
    checked.c = data->views[data->output];
    before.data = memory->before + SOAK_GUARD_BYTES;
    lab_oracle_result check = {.right = true};
    if (checked.a.data && checked.b.data)
        check = lab_oracle_check(&checked, &before, is_exact(subject) ? LAB_ACCURACY_EXACT : accuracy);
    if (is_a_dense)
        free(checked.a.data);
    if (is_b_dense)
        free(checked.b.data);
    if (!check.right)
        snprintf(message, capacity, "element (%lld, %lld) of item %lld is %.9g, expected %.9g (error bound %.3g)",
                 (long long)check.row, (long long)check.col, (long long)check.item, check.got, check.expected,
                 check.bound);
    return check.right;
}
