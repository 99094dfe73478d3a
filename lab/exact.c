/* SPDX-License-Identifier: Apache-2.0 */
/* exact.c - see exact.h. */
#include "exact.h"

#include <stdio.h>
#include <stdlib.h>

#include "oracle.h"
#include "random.h"

/* STEPS of the oracle take a part of a second; of a batch so many ITEMS are looked at. */
enum { ROUNDS = 2, ROWS = 3, STEPS = 1 << 24, ITEMS = 1 << 16 };

void lab_exact_fill(const rung_matrix *matrix, int64_t batch, uint64_t seed, uint64_t stream)
{
    uint64_t index = 0;
    for (int64_t item = 0; item < batch; item++) {
        rung_matrix one = lab_item(matrix, item);
        for (int64_t row = 0; row < one.rows; row++)
            for (int64_t col = 0; col < one.cols; col++)
                lab_element_set(&one, row, col, (double)(lab_random(seed, stream, index++) % 9) - 4);
    }
}

/* y = M x, exactly; false if an element of M is no whole number. */
static bool apply(const rung_matrix *matrix, const int64_t *x, int64_t *y)
{
    for (int64_t row = 0; row < matrix->rows; row++) {
        int64_t sum = 0;
        for (int64_t col = 0; col < matrix->cols; col++) {
            double element = lab_element(matrix, row, col);
            if (!(element > -0x1p31 && element < 0x1p31) || element != (double)(int64_t)element)
                return false;
            sum += (int64_t)element * x[col];
        }
        y[row] = sum;
    }
    return true;
}

/* One round; the row of the first difference, -1 if there is none, -2 if something
 * is no whole number. |x| < 2^16, so no sum passes 2^63. */
static int64_t round_of_freivalds(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c, int64_t *x,
                                  int64_t *bx, int64_t *abx, int64_t *cx, uint64_t seed)
{
    for (int64_t i = 0; i < b->cols; i++)
        x[i] = (int64_t)(lab_random(seed, 900, (uint64_t)i) % 65537) - 32768;
    if (!apply(b, x, bx) || !apply(a, bx, abx) || !apply(c, x, cx))
        return -2;
    for (int64_t i = 0; i < c->rows; i++)
        if (abx[i] != cx[i])
            return i;
    return -1;
}

static bool judge_row(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c, int64_t row, int64_t *wrong_col)
{
    for (int64_t col = 0; col < c->cols; col++) {
        double sum = 0;
        for (int64_t i = 0; i < a->cols; i++)
            sum += lab_element(a, row, i) * lab_element(b, i, col);
        if (sum != lab_element(c, row, col)) {
            *wrong_col = col;
            return false;
        }
    }
    return true;
}

/* Plain sums of one item, which C's type holds. */
static bool judge_item(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c, uint64_t seed, char *why,
                       size_t capacity)
{
    size_t longest = (size_t)(a->rows + a->cols + b->cols + c->rows + 1);
    int64_t *memory = malloc(4 * longest * sizeof *memory), row = -1, col = 0;
    if (!memory) {
        snprintf(why, capacity, "no memory to check the result");
        return false;
    }
    for (uint64_t i = 0; row == -1 && i < ROUNDS; i++)
        row = round_of_freivalds(a, b, c, memory, memory + longest, memory + 2 * longest, memory + 3 * longest,
                                 seed + i);
    free(memory);
    if (row == -2)
        snprintf(why, capacity, "an element is no whole number");
    else if (row >= 0)
        snprintf(why, capacity, "row %lld is wrong", (long long)row);
    if (row != -1)
        return false;
    for (uint64_t i = 0; i < ROWS; i++) {
        int64_t drawn = (int64_t)(lab_random(seed, 901, i) % (uint64_t)c->rows);
        if (!judge_row(a, b, c, drawn, &col)) {
            snprintf(why, capacity, "element (%lld, %lld) is wrong", (long long)drawn, (long long)col);
            return false;
        }
    }
    return true;
}

/* One item by the oracle's bound: as many rows as take no longer than a moment. */
static bool judge_by_bound(const rung_problem *item, uint64_t seed, char *why, size_t capacity)
{
    const rung_matrix *c = &item->c;
    int64_t rows = STEPS / (c->cols * (item->a.cols + 1) + 1) + ROWS;
    bool all = rows >= c->rows;
    int64_t height = all ? c->rows : 1; /* all at once, or drawn ones */
    for (int64_t i = 0; i < (all ? 1 : rows); i++) {
        int64_t row = all ? 0 : (int64_t)(lab_random(seed, 902, (uint64_t)i) % (uint64_t)c->rows);
        rung_problem part = *item;
        part.a = rung_matrix_block(item->a, row, 0, height, item->a.cols);
        part.c = rung_matrix_block(*c, row, 0, height, c->cols);
        if (item->bias.rows > 0)
            part.bias = rung_matrix_block(item->bias, row, 0, height, c->cols);
        if (item->residual.rows > 0)
            part.residual = rung_matrix_block(item->residual, row, 0, height, c->cols);
        lab_verdict verdict = lab_oracle_judge(&part, &part.c, LAB_BOUNDED);
        if (!verdict.right) {
            snprintf(why, capacity, "element (%lld, %lld) is %.9g, expected %.9g within %.3g",
                     (long long)(row + verdict.row), (long long)verdict.col, verdict.got, verdict.expected,
                     verdict.bound);
            return false;
        }
    }
    return true;
}

/* Whether every sum comes out as it is. */
static bool is_plain(const rung_problem *problem)
{
    return problem->bias.rows == 0 && problem->residual.rows == 0 && problem->activation == RUNG_ACTIVATION_NONE &&
           16.0 * (double)problem->a.cols < lab_whole_limit(problem->c.type);
}

bool lab_exact_judge(const rung_problem *problem, uint64_t seed, char *why, size_t capacity)
{
    bool plain = is_plain(problem);
    int64_t step = problem->batch / ITEMS + 1;
    for (int64_t i = 0; i < problem->batch; i += step) {
        rung_problem item = *problem;
        item.batch = 1;
        item.a = lab_item(&problem->a, i);
        item.b = lab_item(&problem->b, i);
        item.c = lab_item(&problem->c, i);
        item.bias = lab_item(&problem->bias, i);
        item.residual = lab_item(&problem->residual, i);
        bool right = plain ? judge_item(&item.a, &item.b, &item.c, seed, why, capacity)
                           : judge_by_bound(&item, seed, why, capacity);
        if (!right)
            return false;
    }
    return true;
}
