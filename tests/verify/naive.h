/* SPDX-License-Identifier: Apache-2.0 */
/* naive.h - a small problem of any product and a multiply that is plainly right, or wrong
 * in one chosen way: what the tests hold before the oracle.
 *
 * Every step is taken in double and rounded at once to the type it is said to be kept in.
 * For F32 that is the same as computing in float, since a double has more than twice its
 * bits; for F64 it is nothing; for F16 and BF16 it is a kernel that saves in the wrong
 * place. */
#ifndef RUNG_NAIVE_H
#define RUNG_NAIVE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "verify/oracle.h"
#include "common/random.h"

enum { NAIVE_M = 7, NAIVE_N = 5, NAIVE_K_MAX = 2000, NAIVE_ITEMS = 4 };

typedef enum naive_order { NAIVE_FORWARDS, NAIVE_BACKWARDS, NAIVE_PAIRWISE, NAIVE_ORDERS } naive_order_t;

/* What an epilogue may get wrong. */
typedef enum naive_mistake {
    NAIVE_RIGHT,
    NAIVE_NO_BIAS,
    NAIVE_BIAS_TWICE,
    NAIVE_ACTIVATION_FIRST, /* before the bias */
    NAIVE_RESIDUAL_BEFORE,  /* the activation */
    NAIVE_NO_RESIDUAL,
    NAIVE_NO_MULTIPLIER,
    NAIVE_MULTIPLIER_LAST, /* after the residual */
    NAIVE_TANH,            /* the usual approximation of gelu */
} naive_slip_t;

/* How a factor is changed before it is multiplied. */
typedef double (*naive_change_t)(double factor);

typedef struct naive {
    rung_problem problem;
    rung_matrix before;
    lab_type_pair product;
    rung_type sum; /* what sums are kept in */
    naive_order_t order;
    naive_slip_t slip;
    naive_change_t change; /* NULL: none */
} naive_t;

/* One at a time: a few matrices of doubles are too large for the stack. */
static double naive_a[NAIVE_M * NAIVE_K_MAX], naive_b[NAIVE_K_MAX * NAIVE_N];
static double naive_c[NAIVE_ITEMS * NAIVE_M * NAIVE_N], naive_before[NAIVE_ITEMS * NAIVE_M * NAIVE_N];

/* ---- Numbers -------------------------------------------------------------------------------- */

static inline double naive_rounded(rung_type type, double value)
{
    switch (type) {
    case RUNG_F32: return (float)value;
    case RUNG_F16: return rung_f16_to_f32(rung_f16_from_f32((float)value));
    case RUNG_BF16: return rung_bf16_to_f32(rung_bf16_from_f32((float)value));
    default: return value;
    }
}

/* In [-1, 1), and for a whole type anywhere in it, so that sums wrap around. */
static inline double naive_number(rung_type type, uint64_t stream, uint64_t index)
{
    uint32_t bits = lab_random(7, stream, index);
    if (type == RUNG_I8)
        return (int)(bits % 256) - 128;
    if (type == RUNG_I32)
        return (int32_t)bits;
    return lab_random_uniform(7, stream, index) + 0x1p-24 * lab_random_uniform(7, stream + 100, index);
}

static inline void naive_fill(const rung_matrix *matrix, uint64_t stream)
{
    for (int64_t i = 0; i < matrix->rows * matrix->cols; i++)
        lab_element_set(matrix, i / matrix->cols, i % matrix->cols, naive_number(matrix->type, stream, (uint64_t)i));
}

/* Every number without its sign: no sum cancels, and a bound is a share of the result. */
static inline void naive_make_positive(const rung_matrix *matrix)
{
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++)
            lab_element_set(matrix, i, j, fabs(lab_element_get(matrix, i, j)));
}

static inline void naive_set_all(const rung_matrix *matrix, double value)
{
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++)
            lab_element_set(matrix, i, j, value);
}

/* ---- Making and computing ----------------------------------------------------------------------- */

static inline naive_t naive_create(lab_type_pair product, int64_t k)
{
    rung_type in = product.in, out = product.out;
    naive_t made = {.product = product, .sum = lab_type_pair_accumulator(product)};
    made.problem = rung_problem_of(rung_matrix_of(in, NAIVE_M, k, naive_a), rung_matrix_of(in, k, NAIVE_N, naive_b),
                                   rung_matrix_of(out, NAIVE_M, NAIVE_N, naive_c));
    made.before = rung_matrix_of(out, NAIVE_M, NAIVE_N, naive_before);
    naive_fill(&made.problem.a, 1);
    naive_fill(&made.problem.b, 2);
    naive_fill(&made.before, 3);
    return made;
}

/* Steps from..to-1 of the sum of an element. */
static inline double naive_sum(const naive_t *naive, const rung_matrix *a, const rung_matrix *b, int64_t row,
                               int64_t col, int64_t from, int64_t to)
{
    double sum = 0;
    if (naive->order == NAIVE_PAIRWISE && to - from > 2) {
        int64_t half = from + (to - from) / 2;
        return naive_rounded(naive->sum,
                             naive_sum(naive, a, b, row, col, from, half) + naive_sum(naive, a, b, row, col, half, to));
    }
    for (int64_t step = 0; step < to - from; step++) {
        int64_t i = naive->order == NAIVE_BACKWARDS ? to - 1 - step : from + step;
        double x = lab_element_get(a, row, i), y = lab_element_get(b, i, col);
        if (naive->change) {
            x = naive->change(x);
            y = naive->change(y);
        }
        sum = naive_rounded(naive->sum, sum + naive_rounded(naive->sum, x * y));
    }
    return sum;
}

static inline double naive_activated(const naive_t *naive, double v)
{
    switch (naive->problem.activation) {
    case RUNG_ACTIVATION_RELU: return v < 0 ? 0 : v;
    case RUNG_ACTIVATION_GELU:
        if (naive->slip == NAIVE_TANH)
            return 0.5 * v * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)));
        if (naive->sum == RUNG_F64)
            return 0.5 * v * (1 + erf(v * 0.70710678118654752440));
        return 0.5f * (float)v * (1 + erff((float)v * 0.70710678f));
    case RUNG_ACTIVATION_GELU_TANH:
        if (naive->sum == RUNG_F64)
            return 0.5 * v * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)));
        return 0.5f * (float)v * (1 + tanhf(0.79788456f * ((float)v + 0.044715f * (float)v * (float)v * (float)v)));
    case RUNG_ACTIVATION_SILU: return naive->sum == RUNG_F64 ? v / (1 + exp(-v)) : (float)v / (1 + expf(-(float)v));
    default: return v;
    }
}

/* The epilogue, with its slip if it has one. */
static inline double naive_epilogue(const naive_t *naive, double v, double bias, double multiplier, double residual)
{
    naive_slip_t slip = naive->slip;
    if (slip == NAIVE_ACTIVATION_FIRST)
        v = naive_activated(naive, v);
    if (slip != NAIVE_NO_BIAS)
        v = naive_rounded(naive->sum, v + bias);
    if (slip == NAIVE_BIAS_TWICE)
        v = naive_rounded(naive->sum, v + bias);
    if (slip == NAIVE_RESIDUAL_BEFORE)
        v = naive_rounded(naive->sum, v + residual);
    if (slip != NAIVE_ACTIVATION_FIRST)
        v = naive_activated(naive, v);
    if (slip != NAIVE_NO_MULTIPLIER && slip != NAIVE_MULTIPLIER_LAST)
        v = naive_rounded(naive->sum, v * multiplier);
    if (slip != NAIVE_RESIDUAL_BEFORE && slip != NAIVE_NO_RESIDUAL)
        v = naive_rounded(naive->sum, v + residual);
    if (slip == NAIVE_MULTIPLIER_LAST)
        v = naive_rounded(naive->sum, v * multiplier);
    return v;
}

/* The same element of whole numbers, modulo 2^32; the order cannot matter. */
static inline double naive_integer_element(const rung_problem *problem, const rung_matrix *views, int64_t row,
                                           int64_t col)
{
    uint32_t sum = 0;
    for (int64_t i = 0; i < problem->a.cols; i++)
        sum += (uint32_t)(int32_t)lab_element_get(&views[0], row, i) *
               (uint32_t)(int32_t)lab_element_get(&views[1], i, col);
    sum = sum * (uint32_t)(int32_t)problem->alpha;
    if (problem->beta != 0)
        sum += (uint32_t)(int32_t)problem->beta * (uint32_t)(int32_t)lab_element_get(&views[2], row, col);
    if (problem->bias.rows > 0)
        sum += (uint32_t)(int32_t)lab_element_get(&views[3], row, col);
    if (problem->activation == RUNG_ACTIVATION_RELU && (int32_t)sum < 0)
        sum = 0;
    if (problem->multiplier.rows > 0)
        sum *= (uint32_t)(int32_t)lab_element_get(&views[5], row, col);
    if (problem->residual.rows > 0)
        sum += (uint32_t)(int32_t)lab_element_get(&views[4], row, col);
    return (int32_t)sum;
}

static inline double naive_element(const naive_t *naive, const rung_matrix *views, int64_t row, int64_t col)
{
    const rung_problem *problem = &naive->problem;
    if (lab_type_is_integer(problem->c.type))
        return naive_integer_element(problem, views, row, col);
    double v = naive_sum(naive, &views[0], &views[1], row, col, 0, problem->a.cols);
    v = naive_rounded(naive->sum, problem->alpha * v);
    if (problem->beta != 0)
        v = naive_rounded(naive->sum,
                          v + naive_rounded(naive->sum, problem->beta * lab_element_get(&views[2], row, col)));
    double bias = problem->bias.rows > 0 ? lab_element_get(&views[3], row, col) : 0;
    double residual = problem->residual.rows > 0 ? lab_element_get(&views[4], row, col) : 0;
    double multiplier = problem->multiplier.rows > 0 ? lab_element_get(&views[5], row, col) : 1;
    return naive_epilogue(naive, v, bias, multiplier, residual);
}

/* All items, rounded to C's type once. */
static inline void naive_multiply(const naive_t *naive)
{
    const rung_problem *problem = &naive->problem;
    for (int64_t item = 0; item < problem->batch; item++) {
        rung_matrix c = lab_batch_item(&problem->c, item);
        rung_matrix views[] = {lab_batch_item(&problem->a, item),        lab_batch_item(&problem->b, item),
                               lab_batch_item(&naive->before, item),     lab_batch_item(&problem->bias, item),
                               lab_batch_item(&problem->residual, item), lab_batch_item(&problem->multiplier, item)};
        for (int64_t row = 0; row < c.rows; row++)
            for (int64_t col = 0; col < c.cols; col++)
                lab_element_set(&c, row, col, naive_element(naive, views, row, col));
    }
}

/* ---- Judging -------------------------------------------------------------------------------------- */

static inline lab_oracle_result naive_result(const naive_t *naive)
{
    return lab_oracle_check(&naive->problem, &naive->before, LAB_ACCURACY_BOUNDED);
}

static inline bool naive_is_right(const naive_t *naive)
{
    return naive_result(naive).right;
}

/* The next number of C's type but so many on, away from zero; of whole ones that much more. */
static inline double naive_next(const rung_matrix *c, int64_t row, int64_t col, int steps)
{
    int64_t place = c->offset + row * c->row_stride + col * c->col_stride;
    uint16_t bits;
    double value = lab_element_get(c, row, col);
    if (lab_type_is_integer(c->type))
        return value + steps;
    if (c->type == RUNG_F16 || c->type == RUNG_BF16) {
        memcpy(&bits, (char *)c->data + place * 2, 2);
        bits = (uint16_t)(bits + steps);
        return c->type == RUNG_F16 ? rung_f16_to_f32(bits) : rung_bf16_to_f32(bits);
    }
    int exponent;
    frexp(value, &exponent);
    return value + steps * ldexp(value < 0 ? -1 : 1, exponent - (c->type == RUNG_F32 ? 24 : 53));
}

#endif /* RUNG_NAIVE_H */
