/* SPDX-License-Identifier: Apache-2.0 */
/* blas_fallback_gemm.c - multiplies with three loops if rung fails and the process has no other BLAS. Supports
 * unaligned memory, which rung rejects. */
#include "blas/blas.h"

#include <string.h>

#include "base/assert.h"

static char *element_address(const rung_matrix *matrix, int64_t i, int64_t j)
{
    return (char *)matrix->data + (i * matrix->row_stride + j * matrix->col_stride) * rung_type_size(matrix->type);
}

static double load(const rung_matrix *matrix, int64_t i, int64_t j)
{
    double wide;
    float narrow;
    if (matrix->type == RUNG_F64) {
        memcpy(&wide, element_address(matrix, i, j), sizeof wide);
        return wide;
    }
    memcpy(&narrow, element_address(matrix, i, j), sizeof narrow);
    return narrow;
}

static void store(const rung_matrix *matrix, int64_t i, int64_t j, double value)
{
    float narrow = (float)value;
    if (matrix->type == RUNG_F64)
        memcpy(element_address(matrix, i, j), &value, sizeof value);
    else
        memcpy(element_address(matrix, i, j), &narrow, sizeof narrow);
}

void rungi_blas_fallback_gemm(const rung_problem *problem)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    RUNGI_ASSERT((c->type == RUNG_F32 || c->type == RUNG_F64) && a->type == c->type && b->type == c->type);
    RUNGI_ASSERT(a->rows == c->rows && a->cols == b->rows && b->cols == c->cols);
    for (int64_t i = 0; i < c->rows; i++) {
        for (int64_t j = 0; j < c->cols; j++) {
            double sum = 0;
            for (int64_t p = 0; p < a->cols; p++)
                sum += load(a, i, p) * load(b, p, j);
            double value = problem->alpha * sum;
            store(c, i, j, problem->beta == 0 ? value : value + problem->beta * load(c, i, j));
        }
    }
}
