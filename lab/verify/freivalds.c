/* SPDX-License-Identifier: Apache-2.0 */
/* freivalds.c - see freivalds.h. */
#include "verify/freivalds.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/failure.h"
#include "common/random.h"
#include "verify/oracle.h"

/* ORACLE_PRODUCTS_MAX products take the oracle a fraction of a second. */
enum { FREIVALDS_ROUNDS = 2, SAMPLED_ROWS = 3, ORACLE_PRODUCTS_MAX = 1 << 24, ITEMS_CHECKED_MAX = 1 << 16 };

static double small_integer(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(lab_random(seed, stream, index) % 9) - 4;
}

void lab_fill_small_integers(const rung_matrix *matrix, int64_t batch, uint64_t seed, uint64_t stream)
{
    uint64_t index = 0;
    for (int64_t item = 0; item < batch; item++) {
        rung_matrix one = lab_batch_item(matrix, item);
        if (lab_type_is_quantized(matrix->type)) {
            lab_fill_blocks(&one, small_integer, seed, stream, &index);
            continue;
        }
        for (int64_t row = 0; row < one.rows; row++)
            for (int64_t col = 0; col < one.cols; col++)
                lab_element_set(&one, row, col, small_integer(seed, stream, index++));
    }
}

/* Computes y = M x exactly. Returns false if an element of M is not an integer. */
static bool multiply_vector(const rung_matrix *matrix, const int64_t *x, int64_t *y)
{
    for (int64_t row = 0; row < matrix->rows; row++) {
        int64_t sum = 0;
        for (int64_t col = 0; col < matrix->cols; col++) {
            double element = lab_element_get(matrix, row, col);
            if (!(element > -0x1p31 && element < 0x1p31) || element != (double)(int64_t)element)
                return false;
            sum += (int64_t)element * x[col];
        }
        y[row] = sum;
    }
    return true;
}

/* Runs one round. Returns the row of the first difference, -1 if there is none, -2 if an element is not an integer.
 * Since |x| < 2^16, no sum exceeds 2^63. */
static int64_t run_freivalds_round(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c, int64_t *x,
                                   int64_t *bx, int64_t *abx, int64_t *cx, uint64_t seed)
{
    for (int64_t i = 0; i < b->cols; i++)
        x[i] = (int64_t)(lab_random(seed, 900, (uint64_t)i) % 65537) - 32768;
    if (!multiply_vector(b, x, bx) || !multiply_vector(a, bx, abx) || !multiply_vector(c, x, cx))
        return -2;
    for (int64_t i = 0; i < c->rows; i++)
        if (abx[i] != cx[i])
            return i;
    return -1;
}

static bool check_row(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c, int64_t row, int64_t *wrong_col)
{
    for (int64_t col = 0; col < c->cols; col++) {
        double sum = 0;
        for (int64_t i = 0; i < a->cols; i++)
            sum += lab_element_get(a, row, i) * lab_element_get(b, i, col);
        if (sum != lab_element_get(c, row, col)) {
            *wrong_col = col;
            return false;
        }
    }
    return true;
}

/* Checks one item whose sums are exact in the type of C. */
static bool check_item(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c, uint64_t seed, char *error,
                       size_t capacity)
{
    size_t longest = (size_t)(a->rows + a->cols + b->cols + c->rows + 1);
    int64_t *memory = malloc(4 * longest * sizeof *memory), row = -1, col = 0;
    if (!memory)
        return lab_set_reason(error, capacity, "not enough memory to check the result");
    for (uint64_t i = 0; row == -1 && i < FREIVALDS_ROUNDS; i++)
        row = run_freivalds_round(a, b, c, memory, memory + longest, memory + 2 * longest, memory + 3 * longest,
                                  seed + i);
    free(memory);
    if (row == -2)
        return lab_set_reason(error, capacity, "an element is not an integer");
    if (row >= 0)
        return lab_set_reason(error, capacity, "row %lld is wrong", (long long)row);
    for (uint64_t i = 0; i < SAMPLED_ROWS; i++) {
        int64_t drawn = (int64_t)(lab_random(seed, 901, i) % (uint64_t)c->rows);
        if (!check_row(a, b, c, drawn, &col))
            return lab_set_reason(error, capacity, "element (%lld, %lld) is wrong", (long long)drawn, (long long)col);
    }
    return true;
}

/* Checks rows x cols elements of C from (row, col) on against the error bound. */
static bool check_block(const rung_problem *item, int64_t row, int64_t col, int64_t rows, int64_t cols, char *error,
                        size_t capacity)
{
    rung_problem part = *item;
    part.a = rung_matrix_block(item->a, row, 0, rows, item->a.cols);
    part.b = rung_matrix_block(item->b, 0, col, item->b.rows, cols);
    part.c = rung_matrix_block(item->c, row, col, rows, cols);
    if (item->bias.rows > 0)
        part.bias = rung_matrix_block(item->bias, row, col, rows, cols);
    if (item->residual.rows > 0)
        part.residual = rung_matrix_block(item->residual, row, col, rows, cols);
    lab_oracle_result result = lab_oracle_check(&part, &part.c, LAB_ACCURACY_BOUNDED);
    return result.right ||
           lab_set_reason(error, capacity, "element (%lld, %lld) is %.9g, expected %.9g (error bound %.3g)",
                          (long long)(row + result.row), (long long)(col + result.col), result.got, result.expected,
                          result.bound);
}

/* Checks one item against the error bound: all elements, or as many random rows and columns as take a fraction of a second. Each
 * row and each column of C then has elements that are checked. */
static bool check_by_bound(const rung_problem *item, uint64_t seed, char *error, size_t capacity)
{
    int64_t m = item->c.rows, n = item->c.cols, k = item->a.cols;
    int64_t rows = ORACLE_PRODUCTS_MAX / (n * (k + 1) + 1) + SAMPLED_ROWS;
    int64_t cols = ORACLE_PRODUCTS_MAX / (m * (k + 1) + 1) + SAMPLED_ROWS;
    if (rows >= m)
        return check_block(item, 0, 0, m, n, error, capacity);
    for (int64_t i = 0; i < rows; i++)
        if (!check_block(item, (int64_t)(lab_random(seed, 902, (uint64_t)i) % (uint64_t)m), 0, 1, n, error, capacity))
            return false;
    for (int64_t i = 0; i < cols; i++)
        if (!check_block(item, 0, (int64_t)(lab_random(seed, 903, (uint64_t)i) % (uint64_t)n), m, 1, error, capacity))
            return false;
    return true;
}

/* Returns whether every sum is exact and stored unchanged. */
static bool is_exact_product(const rung_problem *problem)
{
    return !lab_type_is_quantized(problem->b.type) && problem->bias.rows == 0 && problem->residual.rows == 0 &&
           problem->activation == RUNG_ACTIVATION_NONE &&
           16.0 * (double)problem->a.cols < lab_type_exact_integer_max(problem->c.type);
}

bool lab_freivalds_check(const rung_problem *problem, uint64_t seed, char *error, size_t capacity)
{
    bool is_exact = is_exact_product(problem);
    int64_t step = problem->batch / ITEMS_CHECKED_MAX + 1;
    for (int64_t i = 0; i < problem->batch; i += step) {
        rung_problem item = *problem;
        item.batch = 1;
        item.a = lab_batch_item(&problem->a, i);
        item.b = lab_batch_item(&problem->b, i);
        item.c = lab_batch_item(&problem->c, i);
        item.bias = lab_batch_item(&problem->bias, i);
        item.residual = lab_batch_item(&problem->residual, i);
        bool right = is_exact ? check_item(&item.a, &item.b, &item.c, seed, error, capacity)
                              : check_by_bound(&item, seed, error, capacity);
        if (!right)
            return false;
    }
    return true;
}
