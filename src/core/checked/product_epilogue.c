/* SPDX-License-Identifier: Apache-2.0 */
/* product_epilogue.c - see product_epilogue.h. Floating-point numbers are computed in double and rounded once, integers
 * modulo 2^32. */
#include "core/checked/product_epilogue.h"

#include <math.h>

#include "base/checked_arithmetic.h"
#include "base/float16.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/quantization.h"

/* The matrices of one item. */
typedef struct epilogue_item {
    rung_matrix product, result, addend, bias, multiplier, residual;
    double beta;
    rung_activation activation;
} epilogue_item_t;

static double read_element(const rung_matrix *view, int64_t row, int64_t col)
{
    int64_t index = rungi_element_index(view, row, col);
    switch (view->type) {
    case RUNG_F64: return ((const double *)view->data)[index];
    case RUNG_F16: return (double)rungi_f16_to_f32(((const uint16_t *)view->data)[index]);
    case RUNG_BF16: return (double)rungi_bf16_to_f32(((const uint16_t *)view->data)[index]);
    default: return (double)((const float *)view->data)[index];
    }
}

static void write_element(const rung_matrix *view, int64_t row, int64_t col, double value)
{
    int64_t index = rungi_element_index(view, row, col);
    switch (view->type) {
    case RUNG_F64: ((double *)view->data)[index] = value; break;
    case RUNG_F16: ((uint16_t *)view->data)[index] = rungi_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)view->data)[index] = rungi_bf16_from_f32((float)value); break;
    default: ((float *)view->data)[index] = (float)value; break;
    }
}

/* Returns v / (1 + exp(-x)); 0, the limit, for minus infinity. */
static double sigmoid_times(double v, double x)
{
    double tail = exp(-fabs(x));
    return isinf(v) && v < 0 ? 0 : v * ((x < 0 ? tail : 1) / (1 + tail));
}

static double activate(rung_activation activation, double v)
{
    switch (activation) {
    case RUNG_ACTIVATION_RELU: return v < 0 ? 0 : v;
    case RUNG_ACTIVATION_GELU: return 0.5 * v * erfc(-v * 0.70710678118654752440);
    case RUNG_ACTIVATION_GELU_TANH: return sigmoid_times(v, 1.5957691216057307117 * v * (1 + 0.044715 * v * v));
    case RUNG_ACTIVATION_SILU: return sigmoid_times(v, v);
    case RUNG_ACTIVATION_NONE:
    default: return v;
    }
}

static void store_element(const epilogue_item_t *item, int64_t row, int64_t col)
{
    double value = read_element(&item->product, row, col);
    if (item->beta != 0)
        value += item->beta * read_element(&item->addend, row, col);
    if (!rungi_matrix_is_empty(&item->bias))
        value += read_element(&item->bias, row, col);
    value = activate(item->activation, value);
    if (!rungi_matrix_is_empty(&item->multiplier))
        value *= read_element(&item->multiplier, row, col);
    if (!rungi_matrix_is_empty(&item->residual))
        value += read_element(&item->residual, row, col);
    write_element(&item->result, row, col, value);
}

static uint32_t read_integer(const rung_matrix *view, int64_t row, int64_t col)
{
    return ((const uint32_t *)view->data)[rungi_element_index(view, row, col)];
}

static void store_integer(const epilogue_item_t *item, int64_t row, int64_t col)
{
    uint32_t value = read_integer(&item->product, row, col);
    if (item->beta != 0)
        value += (uint32_t)(int64_t)item->beta * read_integer(&item->addend, row, col);
    if (!rungi_matrix_is_empty(&item->bias))
        value += read_integer(&item->bias, row, col);
    if (item->activation == RUNG_ACTIVATION_RELU && (value & 0x80000000u))
        value = 0;
    if (!rungi_matrix_is_empty(&item->multiplier))
        value *= read_integer(&item->multiplier, row, col);
    if (!rungi_matrix_is_empty(&item->residual))
        value += read_integer(&item->residual, row, col);
    ((uint32_t *)item->result.data)[rungi_element_index(&item->result, row, col)] = value;
}

static void store_item(const epilogue_item_t *item)
{
    bool is_integer = rungi_type_is_integer(item->result.type);
    bool by_columns = item->result.row_stride < item->result.col_stride;
    int64_t outer = by_columns ? item->result.cols : item->result.rows;
    int64_t inner = by_columns ? item->result.rows : item->result.cols;
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++) {
            int64_t row = by_columns ? j : i, col = by_columns ? i : j;
            if (is_integer)
                store_integer(item, row, col);
            else
                store_element(item, row, col);
        }
}

void rungi_product_epilogue(const rung_problem *normalized, const rung_matrix *product)
{
    const rung_matrix *addend = rungi_problem_addend(normalized);
    if (rungi_matrix_is_empty(addend))
        addend = &normalized->c;
    for (int64_t i = 0; i < normalized->batch; i++) {
        epilogue_item_t item = {.product = rungi_matrix_item(product, i),
                                .result = rungi_matrix_item(&normalized->c, i),
                                .addend = rungi_matrix_item(addend, i),
                                .bias = rungi_matrix_item(&normalized->bias, i),
                                .multiplier = rungi_matrix_item(&normalized->multiplier, i),
                                .residual = rungi_matrix_item(&normalized->residual, i),
                                .beta = normalized->beta,
                                .activation = normalized->activation};
        store_item(&item);
    }
}
