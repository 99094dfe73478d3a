/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - everything that can be wrong with a problem, found before any
 * device sees it, so that kernels may rely on it. */
#include "core/problem.h"

#include <math.h>

#include "core/device.h"
#include "core/error.h"
#include "core/matrix.h"

rung_problem rung_problem_of(rung_matrix a, rung_matrix b, rung_matrix c)
{
    return (rung_problem){.alpha = 1.0, .a = a, .b = b, .beta = 0.0, .c = c};
}

/* ---- Overlap ---------------------------------------------------------------- */

static int64_t greatest_common_divisor(int64_t x, int64_t y)
{
    while (y != 0) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

bool rungi_matrix_overlaps_itself(const rung_matrix *matrix)
{
    if (rungi_matrix_is_empty(matrix))
        return false;
    if (matrix->row_stride == 0 || matrix->col_stride == 0)
        return (matrix->row_stride == 0 && matrix->rows > 1) ||
               (matrix->col_stride == 0 && matrix->cols > 1);
    /* Rows i and columns j apart meet where i * row_stride = j * col_stride. The
     * smallest such step is found by the common divisor; it meets if it fits. */
    int64_t common = greatest_common_divisor(matrix->row_stride, matrix->col_stride);
    return matrix->col_stride / common < matrix->rows && matrix->row_stride / common < matrix->cols;
}

/* A view as a rectangle of byte addresses: `outer` is the longer stride. */
typedef struct rectangle {
    const void *space; /* NULL: memory of this process */
    uintptr_t   first; /* byte address in that space */
    int64_t     size;  /* bytes an element */
    int64_t     outer_stride, outer_count, inner_stride, inner_count; /* strides in bytes */
    int64_t     bytes; /* from the first byte to one past the last */
} rectangle;

/* The first byte of a view's memory, in its space. */
static uintptr_t place_of(const rung_matrix *matrix)
{
    return matrix->buffer ? matrix->buffer->place : (uintptr_t)matrix->data;
}

bool rungi_matrix_is_aligned(const rung_matrix *matrix)
{
    return (place_of(matrix) + (uintptr_t)(matrix->offset * rung_type_size(matrix->type))) % 16 == 0;
}

static rectangle rectangle_of(const rung_matrix *matrix)
{
    int64_t size = rung_type_size(matrix->type), span = 0;
    bool rows_outside = matrix->row_stride >= matrix->col_stride;
    rungi_matrix_span(matrix, &span);
    return (rectangle){
        .space = matrix->buffer ? matrix->buffer->space : NULL,
        .first = place_of(matrix) + (uintptr_t)(matrix->offset * size),
        .size = size,
        .outer_stride = size * (rows_outside ? matrix->row_stride : matrix->col_stride),
        .outer_count = rows_outside ? matrix->rows : matrix->cols,
        .inner_stride = size * (rows_outside ? matrix->col_stride : matrix->row_stride),
        .inner_count = rows_outside ? matrix->cols : matrix->rows,
        .bytes = span * size,
    };
}

/* Whether [0, x_count) and [shift, shift + y_count) meet. */
static bool ranges_meet(int64_t x_count, int64_t shift, int64_t y_count)
{
    return shift < x_count && -shift < y_count;
}

/* Two rectangles over the same strides meet if y's corner, written as whole outer
 * and inner steps from x's, lies so that both ranges meet. An inner run is shorter
 * than an outer step, so only two ways of writing the distance are possible. */
static bool same_grid_rectangles_meet(const rectangle *x, const rectangle *y)
{
    int64_t distance = (int64_t)(y->first - x->first);
    if (distance % x->size != 0)
        return true;
    int64_t down = distance / x->outer_stride - (distance % x->outer_stride < 0);
    for (int64_t outer = down; outer <= down + 1; outer++) {
        int64_t rest = distance - outer * x->outer_stride;
        if (rest % x->inner_stride != 0)
            continue;
        if (ranges_meet(x->outer_count, outer, y->outer_count) &&
            ranges_meet(x->inner_count, rest / x->inner_stride, y->inner_count))
            return true;
    }
    return false;
}

static bool runs_fit_a_step(const rectangle *x)
{
    return x->inner_stride > 0 && x->inner_count <= x->outer_stride / x->inner_stride;
}

bool rungi_matrices_overlap(const rung_matrix *x, const rung_matrix *y)
{
    if (rungi_matrix_is_empty(x) || rungi_matrix_is_empty(y))
        return false;
    rectangle first = rectangle_of(x), second = rectangle_of(y);
    if (first.space != second.space || first.first + (uintptr_t)first.bytes <= second.first ||
        second.first + (uintptr_t)second.bytes <= first.first)
        return false;
    bool same_grid = first.size == second.size && first.outer_stride == second.outer_stride &&
                     first.inner_stride == second.inner_stride && runs_fit_a_step(&first) &&
                     runs_fit_a_step(&second);
    return !same_grid || same_grid_rectangles_meet(&first, &second);
}

/* ---- Form --------------------------------------------------------------------- */

static rung_status check_view(const char *name, const rung_matrix *matrix)
{
    int64_t span;
    if (rung_type_size(matrix->type) == 0)
        return rungi_fail(RUNG_INVALID, "%s has no valid element type (%d); use RUNG_F32 or another "
                          "of RUNG_TYPE_LIST", name, (int)matrix->type);
    if (matrix->rows < 0 || matrix->cols < 0)
        return rungi_fail(RUNG_INVALID, "%s is %lld x %lld; sizes are not negative (a block outside "
                          "its matrix has size -1)", name, (long long)matrix->rows,
                          (long long)matrix->cols);
    if (matrix->row_stride < 0 || matrix->col_stride < 0 || matrix->offset < 0)
        return rungi_fail(RUNG_INVALID, "%s has strides %lld, %lld and offset %lld; none may be "
                          "negative", name, (long long)matrix->row_stride,
                          (long long)matrix->col_stride, (long long)matrix->offset);
    if (!rungi_matrix_span(matrix, &span))
        return rungi_fail(RUNG_TOO_LARGE, "%s, %lld x %lld with strides %lld, %lld, does not fit the "
                          "address space", name, (long long)matrix->rows, (long long)matrix->cols,
                          (long long)matrix->row_stride, (long long)matrix->col_stride);
    return RUNG_OK;
}

static bool is_integer_type(rung_type type)
{
    return type == RUNG_I8 || type == RUNG_I32;
}

static rung_status check_scalar(const char *name, double value, rung_type type)
{
    if (is_integer_type(type) && (value != floor(value) || value < INT32_MIN || value > INT32_MAX))
        return rungi_fail(RUNG_INVALID, "%s is %g; with integer matrices it must be a whole 32-bit "
                          "number", name, value);
    return RUNG_OK;
}

rung_status rungi_problem_check_form(const rung_problem *problem)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    rung_status status = check_view("A", a);
    if (status == RUNG_OK)
        status = check_view("B", b);
    if (status == RUNG_OK)
        status = check_view("C", c);
    if (status == RUNG_OK)
        status = check_scalar("alpha", problem->alpha, c->type);
    if (status == RUNG_OK)
        status = check_scalar("beta", problem->beta, c->type);
    if (status != RUNG_OK)
        return status;
    if (a->cols != b->rows || a->rows != c->rows || b->cols != c->cols)
        return rungi_fail(RUNG_INVALID, "A is %lld x %lld, B %lld x %lld, C %lld x %lld; A must be "
                          "m x k, B k x n and C m x n", (long long)a->rows, (long long)a->cols,
                          (long long)b->rows, (long long)b->cols, (long long)c->rows,
                          (long long)c->cols);
    if (rungi_matrix_overlaps_itself(c))
        return rungi_fail(RUNG_OVERLAP, "C, %lld x %lld with strides %lld, %lld, has two elements in "
                          "one place; give it strides that keep them apart", (long long)c->rows,
                          (long long)c->cols, (long long)c->row_stride, (long long)c->col_stride);
    return RUNG_OK;
}

double rungi_problem_scalar(const rung_problem *problem, double scalar)
{
    return problem->c.type == RUNG_F64 || is_integer_type(problem->c.type) ? scalar : (float)scalar;
}

bool rungi_problem_same_form(const rung_problem *x, const rung_problem *y)
{
    const rung_matrix *left[] = {&x->a, &x->b, &x->c}, *right[] = {&y->a, &y->b, &y->c};
    for (int i = 0; i < 3; i++)
        if (left[i]->type != right[i]->type || left[i]->rows != right[i]->rows ||
            left[i]->cols != right[i]->cols || left[i]->row_stride != right[i]->row_stride ||
            left[i]->col_stride != right[i]->col_stride)
            return false;
    return true;
}

/* ---- Memory --------------------------------------------------------------------- */

static rung_status check_place(const char *name, const rung_matrix *matrix)
{
    int64_t span, size = rung_type_size(matrix->type);
    if (rungi_matrix_is_empty(matrix))
        return RUNG_OK;
    if (!matrix->data == !matrix->buffer)
        return rungi_fail(RUNG_INVALID, "%s has %s; a view has data or a buffer", name,
                          matrix->data ? "data and a buffer" : "neither data nor a buffer");
    if (place_of(matrix) % (uintptr_t)size != 0)
        return rungi_fail(RUNG_INVALID, "the memory of %s is not aligned to its element, %lld bytes",
                          name, (long long)size);
    if (!matrix->buffer)
        return RUNG_OK;
    rungi_matrix_span(matrix, &span);
    if ((matrix->offset + span) * size > matrix->buffer->bytes)
        return rungi_fail(RUNG_INVALID, "%s ends %lld bytes into a buffer of %lld", name,
                          (long long)((matrix->offset + span) * size),
                          (long long)matrix->buffer->bytes);
    return RUNG_OK;
}

rung_status rungi_problem_check_memory(const rung_problem *problem)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    rung_status status = check_place("A", a);
    if (status == RUNG_OK)
        status = check_place("B", b);
    if (status == RUNG_OK)
        status = check_place("C", c);
    if (status != RUNG_OK)
        return status;
    if (rungi_matrices_overlap(a, c) || rungi_matrices_overlap(b, c))
        return rungi_fail(RUNG_OVERLAP, "C overlaps %s; multiply into another matrix and copy it",
                          rungi_matrices_overlap(a, c) ? "A" : "B");
    return RUNG_OK;
}

rung_status rung_problem_check(const rung_problem *problem)
{
    if (!problem)
        return rungi_fail(RUNG_INVALID, "the problem is NULL");
    rung_status status = rungi_problem_check_form(problem);
    return status == RUNG_OK ? rungi_problem_check_memory(problem) : status;
}
