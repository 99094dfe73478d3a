/* SPDX-License-Identifier: Apache-2.0 */
/* integer_check.c - sums of a product of integers, exact modulo 2^32; see product_check.h. Weights are odd, so one wrong element
 * always changes the sum of its row and of its column. The product is one tile. */
#include "core/checked/product_check_types.h"
#include "core/matrix.h"
#include "core/quantization.h"

enum { BLOCK = 512 };

/* Reads `count` elements of a row. */
static void load(const rung_matrix *view, int64_t row, int64_t col, int64_t count, uint32_t block[BLOCK])
{
    int64_t first = rungi_element_index(view, row, col), step = view->col_stride;
    const int8_t *bytes = view->data;
    const uint32_t *words = view->data;
    bool is_short = view->type == RUNG_I8;
    for (int64_t j = 0; j < count && is_short && step == 1; j++)
        block[j] = (uint32_t)(int32_t)bytes[first + j];
    for (int64_t j = 0; j < count && !is_short && step == 1; j++)
        block[j] = words[first + j];
    for (int64_t j = 0; j < count && step != 1; j++)
        block[j] = is_short ? (uint32_t)(int32_t)bytes[first + j * step] : words[first + j * step];
}

/* Computes sums over the elements of a matrix: sums[i] of row i, weighted by `weights`, and sums[j] of column j, weighted by
 * `row_weights`. NULL: the weights are hashes of the index; a NULL result is not computed. */
static void sum_lines(const rung_matrix *view, const uint32_t *col_weights, const uint32_t *row_weights,
                      uint32_t *row_sums, uint32_t *col_sums)
{
    uint32_t block[BLOCK], weights[BLOCK];
    for (int64_t col = 0; col < view->cols; col += BLOCK) {
        int64_t width = rungi_min(BLOCK, view->cols - col);
        for (int64_t j = 0; j < width; j++)
            weights[j] = col_weights ? col_weights[col + j] : rungi_check_integer_weight(col + j, false);
        for (int64_t row = 0; row < view->rows; row++) {
            uint32_t sum = 0, weight = row_weights ? row_weights[row] : rungi_check_integer_weight(row, true);
            load(view, row, col, width, block);
            for (int64_t j = 0; j < width && row_sums; j++)
                sum += block[j] * weights[j];
            for (int64_t j = 0; j < width && col_sums; j++)
                col_sums[col + j] += weight * block[j];
            if (row_sums)
                row_sums[row] += sum;
        }
    }
}

void rungi_integer_check_prepare(rungi_product_check *check)
{
    rungi_check_axis *rows = &check->rows, *cols = &check->cols;
    sum_lines(&check->b, NULL, NULL, cols->integer_sums, NULL);
    sum_lines(&check->a, cols->integer_sums, NULL, rows->integer_expected, rows->integer_sums);
    sum_lines(&check->b, NULL, rows->integer_sums, NULL, cols->integer_expected);
}

static void compare(const rungi_product_check *check, rungi_check_axis *axis)
{
    uint32_t alpha = (uint32_t)(int64_t)check->alpha;
    for (int64_t i = 0; i < axis->count; i++)
        axis->flags[i] = axis->integer_actual[i] != alpha * axis->integer_expected[i];
}

void rungi_integer_check_compare(rungi_product_check *check)
{
    sum_lines(check->product, NULL, NULL, check->rows.integer_actual, check->cols.integer_actual);
    compare(check, &check->rows);
    compare(check, &check->cols);
}
