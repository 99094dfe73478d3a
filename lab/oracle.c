/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c - see oracle.h. The reference sums in double, where a product of two
 * floats is exact and the sum's own error is 2^-29 of the bound. */
#include "oracle.h"

#include <math.h>
#include <string.h>

/* What rounding in a type can do. */
typedef struct rounding {
    double unit; /* half the distance from 1 to the next */
    double tiny; /* the smallest denormal */
    double most; /* the largest number */
} rounding;

static const rounding f32_rounding = {0x1p-24, 0x1p-149, 0x1.fffffep127};

bool lab_oracle_takes(rung_type type)
{
    return type == RUNG_F32 || type == RUNG_I32;
}

bool lab_oracle_takes_k(rung_type type, int64_t k)
{
    return type == RUNG_I32 || (double)k + 3 < 0.5 / f32_rounding.unit;
}

static char *element_at(const rung_matrix *matrix, int64_t row, int64_t col)
{
    int64_t place = matrix->offset + row * matrix->row_stride + col * matrix->col_stride;
    return (char *)matrix->data + place * rung_type_size(matrix->type);
}

static int32_t whole_element(const rung_matrix *matrix, int64_t row, int64_t col)
{
    int32_t value;
    memcpy(&value, element_at(matrix, row, col), sizeof value);
    return value;
}

double lab_element(const rung_matrix *matrix, int64_t row, int64_t col)
{
    float value;
    if (matrix->type == RUNG_I32)
        return whole_element(matrix, row, col);
    memcpy(&value, element_at(matrix, row, col), sizeof value);
    return value;
}

void lab_element_set(const rung_matrix *matrix, int64_t row, int64_t col, double value)
{
    float real = (float)value;
    int32_t whole = matrix->type == RUNG_I32 && !isnan(value) ? (int32_t)value : -1;
    memcpy(element_at(matrix, row, col), matrix->type == RUNG_I32 ? (void *)&whole : (void *)&real, 4);
}

/* The exact element and the size of what was rounded on the way to it. */
typedef struct reference {
    double value, magnitude;
} reference;

static reference refer(const rung_problem *problem, const rung_matrix *c0, int64_t row, int64_t col)
{
    double sum = 0, magnitude = 0;
    float alpha = (float)problem->alpha, beta = (float)problem->beta;
    reference result = {0, 0};
    if (alpha != 0) {
        for (int64_t i = 0; i < problem->a.cols; i++) {
            double product = lab_element(&problem->a, row, i) * lab_element(&problem->b, i, col);
            sum += product;
            magnitude += fabs(product);
        }
        result.value = alpha * sum;
        result.magnitude = fabs(alpha) * magnitude;
    }
    if (beta != 0) {
        result.value += beta * lab_element(c0, row, col);
        result.magnitude += fabs(beta * lab_element(c0, row, col));
    }
    return result;
}

/* Whole numbers are exact modulo 2^32. */
static int32_t refer_whole(const rung_problem *problem, const rung_matrix *c0, int64_t row, int64_t col)
{
    uint32_t alpha = (uint32_t)(int64_t)problem->alpha, beta = (uint32_t)(int64_t)problem->beta;
    uint32_t sum = 0;
    for (int64_t i = 0; alpha != 0 && i < problem->a.cols; i++)
        sum += (uint32_t)whole_element(&problem->a, row, i) *
               (uint32_t)whole_element(&problem->b, i, col);
    sum *= alpha;
    if (beta != 0)
        sum += beta * (uint32_t)whole_element(c0, row, col);
    return (int32_t)sum;
}

static lab_verdict judge_whole(const rung_problem *problem, const rung_matrix *c0)
{
    for (int64_t row = 0; row < problem->c.rows; row++) {
        for (int64_t col = 0; col < problem->c.cols; col++) {
            int32_t expected = refer_whole(problem, c0, row, col);
            int32_t got = whole_element(&problem->c, row, col);
            if (got != expected)
                return (lab_verdict){false, row, col, got, expected, 0};
        }
    }
    return (lab_verdict){.right = true};
}

static bool is_right(double got, reference expected, double bound, const rounding *type)
{
    if (isnan(expected.value))
        return isnan(got);
    if (isinf(expected.value))
        return got == expected.value;
    if (isinf(got))
        return fabs(expected.value) + bound > type->most && (got > 0) == (expected.value > 0);
    return fabs(got - expected.value) <= bound;
}

lab_verdict lab_oracle_judge(const rung_problem *problem, const rung_matrix *c0, bool exact)
{
    if (problem->c.type == RUNG_I32)
        return judge_whole(problem, c0);
    const rounding *type = &f32_rounding;
    double steps = (double)problem->a.cols + 3;
    double gamma = steps * type->unit / (1 - steps * type->unit);
    for (int64_t row = 0; row < problem->c.rows; row++) {
        for (int64_t col = 0; col < problem->c.cols; col++) {
            reference expected = refer(problem, c0, row, col);
            double bound = exact ? 0 : gamma * expected.magnitude + steps * type->tiny;
            double got = lab_element(&problem->c, row, col);
            if (!is_right(got, expected, bound, type))
                return (lab_verdict){false, row, col, got, expected.value, bound};
        }
    }
    return (lab_verdict){.right = true};
}
