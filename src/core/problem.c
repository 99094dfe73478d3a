/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - everything that can be wrong with a problem, found before any
 * device sees it, so that kernels may rely on it. */
#include "core/problem.h"

#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/device.h"
#include "core/error.h"
#include "core/growth.h"
#include "core/lists.h"
#include "core/matrix.h"

rung_matrix *rungi_problem_place(rung_problem *problem, rungi_operand operand)
{
    switch (operand) {
    case RUNGI_A: return &problem->a;
    case RUNGI_B: return &problem->b;
    case RUNGI_C: return &problem->c;
    case RUNGI_BIAS: return &problem->bias;
    case RUNGI_RESIDUAL: return &problem->residual;
    case RUNGI_D: return &problem->d;
    case RUNGI_OPERANDS: break;
    }
    RUNGI_ASSERT(!"an operand of a problem");
    return NULL;
}

const rung_matrix *rungi_problem_view(const rung_problem *problem, rungi_operand operand)
{
    return rungi_problem_place((rung_problem *)(uintptr_t)problem, operand);
}

const char *rungi_operand_name(rungi_operand operand)
{
    static const char *const names[] = {"A", "B", "C", "the bias", "the residual", "D"};
    RUNGI_ASSERT(operand < RUNGI_OPERANDS);
    return names[operand];
}

const rung_matrix *rungi_problem_output(const rung_problem *given)
{
    return given->d.type != RUNG_TYPE_NONE ? &given->d : &given->c;
}

static const char *output_name(const rung_problem *given)
{
    return given->d.type != RUNG_TYPE_NONE ? "D" : "C";
}

/* Whether two views are the same elements in the same order. A view without memory, in a form, is like no other. */
static bool is_same_view(const rung_matrix *x, const rung_matrix *y, int64_t items)
{
    bool is_same = (x->data || x->buffer) && x->type == y->type && x->rows == y->rows && x->cols == y->cols &&
                   x->row_stride == y->row_stride && x->col_stride == y->col_stride && x->data == y->data &&
                   x->buffer == y->buffer && x->offset == y->offset && !x->batch_offsets == !y->batch_offsets;
    if (!is_same || x->batch_offsets == y->batch_offsets)
        return is_same && (items < 2 || x->batch_offsets || x->batch_stride == y->batch_stride);
    return memcmp(x->batch_offsets, y->batch_offsets, (size_t)items * sizeof *x->batch_offsets) == 0;
}

static double settled_scalar(const rung_problem *problem, double scalar);

bool rungi_problem_uses(const rung_problem *problem, rungi_operand operand)
{
    return operand != RUNGI_C || problem->d.type == RUNG_TYPE_NONE || settled_scalar(problem, problem->beta) != 0;
}

void rungi_problem_order(rung_problem *given)
{
    if (given->d.type == RUNG_TYPE_NONE)
        return;
    rung_matrix c = given->c;
    bool reads_c = rungi_problem_uses(given, RUNGI_C) && !is_same_view(&c, &given->d, rungi_problem_items(given));
    given->c = given->d;
    given->d = reads_c ? c : (rung_matrix){.type = RUNG_TYPE_NONE};
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
        return (matrix->row_stride == 0 && matrix->rows > 1) || (matrix->col_stride == 0 && matrix->cols > 1);
    /* Rows i and columns j apart meet where i * row_stride = j * col_stride. The
     * smallest such step is found by the common divisor; it meets if it fits. */
    int64_t common = greatest_common_divisor(matrix->row_stride, matrix->col_stride);
    return matrix->col_stride / common < matrix->rows && matrix->row_stride / common < matrix->cols;
}

/* A view as a rectangle of byte addresses: `outer` is the longer stride. */
typedef struct rectangle {
    const void *space;                                            /* NULL: memory of this process */
    uintptr_t first;                                              /* byte address in that space */
    int64_t size;                                                 /* bytes an element */
    int64_t outer_stride, outer_count, inner_stride, inner_count; /* strides in bytes */
    int64_t bytes;                                                /* from the first byte to one past the last */
} rectangle_t;

/* The first byte of a view's memory, in its space. */
static uintptr_t place_of(const rung_matrix *matrix)
{
    return matrix->buffer ? matrix->buffer->place : (uintptr_t)matrix->data;
}

/* The byte of its first element, and the space that is in. */
static uintptr_t first_byte(const rung_matrix *matrix)
{
    return place_of(matrix) + (uintptr_t)(matrix->offset * rungi_type_size(matrix->type));
}

static const void *space_of(const rung_matrix *matrix)
{
    return matrix->buffer ? matrix->buffer->space : NULL;
}

bool rungi_matrix_is_aligned(const rung_matrix *matrix, int64_t batch, int64_t elements)
{
    int64_t size = rungi_type_size(matrix->type);
    if (rungi_matrix_is_empty(matrix))
        return true;
    RUNGI_ASSERT(size > 0 && elements > 0 && (elements & (elements - 1)) == 0);
    if (first_byte(matrix) & (uintptr_t)(elements * size - 1)) /* a power of two, as both are */
        return false;
    if (!matrix->batch_offsets)
        return batch < 2 || matrix->batch_stride % elements == 0;
    for (int64_t i = 0; i < batch; i++)
        if (matrix->batch_offsets[i] % elements != 0)
            return false;
    return true;
}

static rectangle_t rectangle_of(const rung_matrix *matrix)
{
    int64_t size = rungi_type_size(matrix->type), span = 0;
    bool rows_outside = matrix->row_stride >= matrix->col_stride;
    rungi_matrix_span(matrix, &span);
    return (rectangle_t){
        .space = space_of(matrix),
        .first = first_byte(matrix),
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
static bool same_grid_rectangles_meet(const rectangle_t *x, const rectangle_t *y)
{
    int64_t distance = (int64_t)(y->first - x->first);
    RUNGI_ASSERT(x->size > 0 && x->inner_stride > 0 && x->outer_stride > 0);
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

static bool runs_fit_a_step(const rectangle_t *x)
{
    return x->inner_stride > 0 && x->inner_count <= x->outer_stride / x->inner_stride;
}

bool rungi_matrices_overlap(const rung_matrix *x, const rung_matrix *y)
{
    if (rungi_matrix_is_empty(x) || rungi_matrix_is_empty(y))
        return false;
    rectangle_t first = rectangle_of(x), second = rectangle_of(y);
    if (first.space != second.space || first.first + (uintptr_t)first.bytes <= second.first ||
        second.first + (uintptr_t)second.bytes <= first.first)
        return false;
    bool same_grid = first.size == second.size && first.outer_stride == second.outer_stride &&
                     first.inner_stride == second.inner_stride && runs_fit_a_step(&first) && runs_fit_a_step(&second);
    return !same_grid || same_grid_rectangles_meet(&first, &second);
}

/* One of the three directions of a batch, and how far it goes. */
typedef struct direction {
    int64_t stride, count;
} direction_t;

/* Whether a batch of strided items is nested: each stride steps over all that the
 * smaller ones span, so no two elements meet. */
static bool is_nested(const rung_matrix *matrix, int64_t batch)
{
    direction_t all[] = {
        {matrix->row_stride, matrix->rows}, {matrix->col_stride, matrix->cols}, {matrix->batch_stride, batch}};
    int64_t span = 1;
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++)
            if (all[j].stride < all[i].stride) {
                direction_t other = all[i];
                all[i] = all[j];
                all[j] = other;
            }
    for (int i = 0; i < 3; i++) {
        if (all[i].count < 2)
            continue;
        if (all[i].stride < span)
            return false;
        span += all[i].stride * (all[i].count - 1);
    }
    return true;
}

/* An item is compared with so many others whose ranges meet its own; if there are more, it
 * counts as overlapping, so that no check takes longer than a multiply. */
enum { NEIGHBOURS_MAX = 64 };

/* The first item of C, at ascending places, that ends behind `place`. */
static int64_t first_behind(const rung_matrix *c, int64_t batch, int64_t span, int64_t place)
{
    int64_t low = 0, high = batch;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (rungi_matrix_item_offset(c, middle) + span > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool rungi_batches_overlap(const rung_matrix *c, const rung_matrix *other, int64_t batch)
{
    int64_t c_all, other_all, c_span, other_span;
    int64_t size = rungi_type_size(c->type), other_size = rungi_type_size(other->type);
    if (rungi_matrix_is_empty(c) || rungi_matrix_is_empty(other) || batch == 0 || space_of(c) != space_of(other))
        return false;
    if (batch == 1 && !c->batch_offsets && !other->batch_offsets)
        return rungi_matrices_overlap(c, other);
    int64_t distance = (int64_t)(first_byte(other) - first_byte(c));
    rungi_matrix_batch_span(c, batch, &c_all);
    rungi_matrix_batch_span(other, batch, &other_all);
    if (distance >= c_all * size || -distance >= other_all * other_size)
        return false;
    rungi_matrix_span(c, &c_span);
    rungi_matrix_span(other, &other_span);
    int64_t items = rungi_matrix_is_shared(other) ? 1 : batch;
    for (int64_t i = 0; i < items; i++) {
        rung_matrix item = rungi_matrix_item(other, i);
        int64_t start = distance + (item.offset - other->offset) * other_size;
        int64_t end = start + other_span * other_size;
        int64_t first = first_behind(c, batch, c_span, start >= 0 ? start / size : -1);
        for (int64_t j = first; j < batch && rungi_matrix_item_offset(c, j) * size < end; j++) {
            rung_matrix c_item = rungi_matrix_item(c, j);
            if (j - first >= NEIGHBOURS_MAX || rungi_matrices_overlap(&c_item, &item))
                return true;
        }
    }
    return false;
}

/* Whether offsets are in equal steps: then they are a stride. */
static bool is_stride(const int64_t *offsets, int64_t batch)
{
    for (int64_t i = 2; i < batch; i++)
        if (offsets[i] - offsets[i - 1] != offsets[1] - offsets[0])
            return false;
    return batch > 1;
}

/* Whether C's items at ascending places meet each other. */
static bool scattered_items_meet(const rung_matrix *c, int64_t batch)
{
    int64_t span;
    const int64_t *offsets = c->batch_offsets;
    if (is_stride(offsets, batch)) {
        rung_matrix strided = *c;
        strided.batch_stride = offsets[1] - offsets[0];
        return !is_nested(&strided, batch);
    }
    rungi_matrix_span(c, &span);
    for (int64_t i = 1; i < batch; i++) {
        rung_matrix item = rungi_matrix_item(c, i);
        for (int64_t j = i - 1; j >= 0 && offsets[j] + span > offsets[i]; j--) {
            rung_matrix before = rungi_matrix_item(c, j);
            if (i - j > NEIGHBOURS_MAX || rungi_matrices_overlap(&before, &item))
                return true;
        }
    }
    return false;
}

/* ---- Form --------------------------------------------------------------------- */

static rung_status check_view(const char *name, const rung_matrix *matrix, int64_t batch)
{
    int64_t span;
    rung_matrix strided = *matrix;
    if (matrix->batch_offsets) { /* what they hold is the memory's business */
        strided.batch_offsets = NULL;
        strided.batch_stride = 0;
    }
    if ((int)matrix->type <= RUNG_TYPE_NONE || (int)matrix->type >= RUNGI_TYPE_COUNT)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the type of %s is %d, which is not a rung_type; use RUNG_F32 or another "
                          "one",
                          name, (int)matrix->type);
    if (!rungi_type_is_implemented(matrix->type))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s has type %s, which no kernel of rung %s multiplies; convert it "
                          "to f32, f64, f16, bf16, i8 or i32",
                          name, rung_type_name(matrix->type), rung_version_text());
    if (matrix->rows < 0 || matrix->cols < 0)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%s is %lld x %lld; sizes are not negative (a block outside "
                          "its matrix has size -1)",
                          name, (long long)matrix->rows, (long long)matrix->cols);
    if (matrix->row_stride < 0 || matrix->col_stride < 0 || matrix->offset < 0)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%s has strides %lld, %lld and offset %lld; none may be "
                          "negative",
                          name, (long long)matrix->row_stride, (long long)matrix->col_stride,
                          (long long)matrix->offset);
    if (matrix->batch_stride < 0)
        return rungi_fail(RUNG_STATUS_INVALID, "%s has the batch stride %lld; it may not be negative", name,
                          (long long)matrix->batch_stride);
    if (!rungi_matrix_batch_span(&strided, batch, &span))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "%s, %lld x %lld with strides %lld, %lld and %lld for %lld "
                          "items, does not fit the address space",
                          name, (long long)matrix->rows, (long long)matrix->cols, (long long)matrix->row_stride,
                          (long long)matrix->col_stride, (long long)matrix->batch_stride, (long long)batch);
    return RUNG_OK;
}

static bool is_integer_type(rung_type type)
{
    return type == RUNG_I8 || type == RUNG_I32;
}

static rung_status check_scalar(const char *name, double value, rung_type type)
{
    if (is_integer_type(type) && !rungi_is_int32(value))
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%s is %g; with integer matrices it must be a whole 32-bit "
                          "number",
                          name, value);
    return RUNG_OK;
}

static bool is_there(const rung_matrix *added)
{
    return !rungi_matrix_is_empty(added);
}

/* A bias or a residual. */
static rung_status check_added(const char *name, const rung_matrix *added, const rung_problem *problem)
{
    const rung_matrix *c = rungi_problem_output(problem);
    if (!is_there(added) && added->rows >= 0 && added->cols >= 0)
        return RUNG_OK;
    rung_status status = check_view(name, added, rungi_problem_items(problem));
    if (status != RUNG_OK)
        return status;
    if (added->type != c->type || added->rows != c->rows || added->cols != c->cols)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%s is %lld x %lld of %s; it must be %lld x %lld of %s like %s "
                          "(see rung_matrix_broadcast)",
                          name, (long long)added->rows, (long long)added->cols, rung_type_name(added->type),
                          (long long)c->rows, (long long)c->cols, rung_type_name(c->type), output_name(problem));
    if (added->batch_offsets)
        return rungi_fail(RUNG_STATUS_INVALID, "%s has batch offsets; it takes a batch stride alone", name);
    return RUNG_OK;
}

static rung_status check_epilogue(const rung_problem *problem)
{
    if ((int)problem->activation < 0 || (int)problem->activation >= RUNGI_ACTIVATION_COUNT)
        return rungi_fail(RUNG_STATUS_INVALID, "%d is no activation; see rung_activation", (int)problem->activation);
    const rung_matrix *output = rungi_problem_output(problem);
    if (problem->activation > RUNG_ACTIVATION_RELU && is_integer_type(output->type))
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the activation %s needs a floating-point result, and %s is %s; integers "
                          "support relu",
                          rung_activation_name(problem->activation), output_name(problem),
                          rung_type_name(output->type));
    rung_status status = check_added("the bias", &problem->bias, problem);
    return status == RUNG_OK ? check_added("the residual", &problem->residual, problem) : status;
}

/* C, where it is only read. */
static rung_status check_addend(const rung_problem *problem)
{
    const rung_matrix *c = &problem->c, *d = &problem->d;
    if (d->type == RUNG_TYPE_NONE && !rungi_matrix_is_absent(d))
        return rungi_fail(RUNG_STATUS_INVALID,
                          "D has sizes or memory, and no element type; set D's type, or leave all of "
                          "D zero to store the result in C");
    if (d->type == RUNG_TYPE_NONE || !rungi_problem_uses(problem, RUNGI_C))
        return RUNG_OK;
    if (rungi_matrix_is_absent(c))
        return rungi_fail(RUNG_STATUS_INVALID, "beta is %g and C is absent; set C, or set beta to 0", problem->beta);
    rung_status status = check_view("C", c, rungi_problem_items(problem));
    if (status != RUNG_OK)
        return status;
    if (c->rows != d->rows || c->cols != d->cols)
        return rungi_fail(RUNG_STATUS_INVALID, "C is %lld x %lld and D is %lld x %lld; both must be m x n",
                          (long long)c->rows, (long long)c->cols, (long long)d->rows, (long long)d->cols);
    if (c->type != d->type)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "C is of %s and D of %s; this version supports equal types only",
                          rung_type_name(c->type), rung_type_name(d->type));
    return RUNG_OK;
}

static rung_status check_views(const rung_problem *problem)
{
    if (problem->batch < 0)
        return rungi_fail(RUNG_STATUS_INVALID, "the batch has %lld items; it may not be negative",
                          (long long)problem->batch);
    rung_status status = check_view("A", &problem->a, rungi_problem_items(problem));
    if (status == RUNG_OK)
        status = check_view("B", &problem->b, rungi_problem_items(problem));
    if (status == RUNG_OK)
        status = check_view(output_name(problem), rungi_problem_output(problem), rungi_problem_items(problem));
    return status == RUNG_OK ? check_addend(problem) : status;
}

static rung_status check_output(const rung_problem *problem)
{
    const rung_matrix *c = rungi_problem_output(problem);
    const char *name = output_name(problem);
    if (rungi_matrix_overlaps_itself(c))
        return rungi_fail(RUNG_STATUS_ALIASED,
                          "%s, %lld x %lld with strides %lld, %lld, has two elements in "
                          "one place; give it strides that keep them apart",
                          name, (long long)c->rows, (long long)c->cols, (long long)c->row_stride,
                          (long long)c->col_stride);
    if (rungi_problem_items(problem) > 1 && !c->batch_offsets && !rungi_matrix_is_empty(c) &&
        !is_nested(c, rungi_problem_items(problem)))
        return rungi_fail(RUNG_STATUS_ALIASED,
                          "the items of %s, %lld x %lld with strides %lld, %lld, are %lld "
                          "elements apart and so may meet; give it a batch stride that keeps them apart",
                          name, (long long)c->rows, (long long)c->cols, (long long)c->row_stride,
                          (long long)c->col_stride, (long long)c->batch_stride);
    return RUNG_OK;
}

/* Checks the scales and zero points of an operand. */
static rung_status check_quantization(const char *name, const rung_quantization *given)
{
    rung_quantization quantization;
    if (!given)
        return RUNG_OK;
    rung_status status = rungi_struct_read(given, &quantization, sizeof quantization, "rung_quantization",
                                           "rung_quantization_default");
    if (status != RUNG_OK)
        return status;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "%s has scales or zero points, which no kernel of rung %s supports; "
                      "convert %s to f32, f16 or bf16",
                      name, rung_version_text(), name);
}

rung_status rungi_problem_check_form(const rung_problem *problem)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = rungi_problem_output(problem);
    const char *name = output_name(problem);
    rung_status status = check_views(problem);
    if (status == RUNG_OK)
        status = check_quantization("A", problem->a_quantization);
    if (status == RUNG_OK)
        status = check_quantization("B", problem->b_quantization);
    if (status == RUNG_OK)
        status = check_quantization("D", problem->d_quantization);
    if (status == RUNG_OK)
        status = check_scalar("alpha", problem->alpha, c->type);
    if (status == RUNG_OK)
        status = check_scalar("beta", problem->beta, c->type);
    if (status != RUNG_OK)
        return status;
    if ((int)problem->compute < 0 || (int)problem->compute >= RUNGI_COMPUTE_COUNT)
        return rungi_fail(RUNG_STATUS_INVALID, "%d is no compute mode; see rung_compute", (int)problem->compute);
    if (a->cols != b->rows || a->rows != c->rows || b->cols != c->cols)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "A is %lld x %lld, B %lld x %lld, %s %lld x %lld; A must be "
                          "m x k, B k x n and %s m x n",
                          (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols, name,
                          (long long)c->rows, (long long)c->cols, name);
    status = check_output(problem);
    return status == RUNG_OK ? check_epilogue(problem) : status;
}

rung_type rungi_problem_sum_type(const rung_problem *problem)
{
    rung_type out = rungi_problem_output(problem)->type; /* of a normalized problem the addend's, which is the same */
    rung_type sum = rung_accumulator_type(problem->a.type, problem->b.type, out);
    return sum == RUNG_TYPE_NONE ? out : sum;
}

static double settled_scalar(const rung_problem *problem, double scalar)
{
    rung_type type = rungi_problem_sum_type(problem);
    return type == RUNG_F64 || is_integer_type(type) ? scalar : (float)scalar;
}

/* What a view of nothing says of its memory was not checked. */
static void settle_view(rung_matrix *view)
{
    if (rungi_matrix_is_empty(view))
        *view = (rung_matrix){.type = view->type,
                              .rows = view->rows,
                              .cols = view->cols,
                              .row_stride = view->row_stride,
                              .col_stride = view->col_stride};
    else if (view->batch_offsets)
        view->batch_stride = 0;
}

/* All absent views look alike. */
static void settle_added(rung_matrix *added)
{
    if (rungi_matrix_is_empty(added))
        *added = (rung_matrix){.type = RUNG_TYPE_NONE};
}

void rungi_problem_settle(rung_problem *problem)
{
    problem->alpha = settled_scalar(problem, problem->alpha);
    problem->beta = settled_scalar(problem, problem->beta);
    problem->batch = rungi_problem_items(problem);
    rungi_problem_order(problem);
    settle_view(&problem->a);
    settle_view(&problem->b);
    settle_view(&problem->c);
    settle_view(&problem->d);
    settle_added(&problem->bias);
    settle_added(&problem->residual);
    settle_added(&problem->d);
}

rung_problem rungi_problem_given(const rung_problem *normalized)
{
    rung_problem given = *normalized;
    if (given.d.type != RUNG_TYPE_NONE) {
        given.c = normalized->d;
        given.d = normalized->c;
    }
    return given;
}

void rungi_problem_drop_inputs(rung_problem *problem)
{
    problem->a.cols = 0;
    problem->b.rows = 0;
    settle_view(&problem->a);
    settle_view(&problem->b);
}

bool rungi_problem_has_epilogue(const rung_problem *problem)
{
    return problem->activation != RUNG_ACTIVATION_NONE || is_there(&problem->bias) || is_there(&problem->residual) ||
           is_there(rungi_problem_addend(problem));
}

/* A stride between items counts where there are several. */
static bool same_form(const rung_matrix *x, const rung_matrix *y, int64_t batch)
{
    return x->type == y->type && x->rows == y->rows && x->cols == y->cols && x->row_stride == y->row_stride &&
           x->col_stride == y->col_stride && (batch < 2 || x->batch_stride == y->batch_stride) &&
           !x->batch_offsets == !y->batch_offsets;
}

bool rungi_problem_same_form(const rung_problem *x, const rung_problem *y)
{
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        if (!same_form(rungi_problem_view(x, i), rungi_problem_view(y, i), x->batch))
            return false;
    return x->batch == y->batch && x->compute == y->compute && x->activation == y->activation;
}

/* ---- Memory --------------------------------------------------------------------- */

/* Where the items of a batch begin. */
static rung_status check_offsets(const char *name, const rung_matrix *matrix, int64_t batch, bool ascend)
{
    const int64_t *offsets = matrix->batch_offsets;
    for (int64_t i = 0; offsets && i < batch; i++) {
        if (offsets[i] < 0)
            return rungi_fail(RUNG_STATUS_INVALID, "item %lld of %s has the offset %lld; none may be negative",
                              (long long)i, name, (long long)offsets[i]);
        if (ascend && i > 0 && offsets[i] < offsets[i - 1])
            return rungi_fail(RUNG_STATUS_INVALID,
                              "the offsets of %s do not ascend at item %lld; sort the "
                              "batch by them",
                              name, (long long)i);
    }
    return RUNG_OK;
}

static rung_status check_place(const char *name, const rung_matrix *matrix, int64_t batch, bool is_c)
{
    int64_t span, size = rungi_type_size(matrix->type);
    if (rungi_matrix_is_empty(matrix) || batch == 0)
        return RUNG_OK;
    rung_status status = check_offsets(name, matrix, batch, is_c);
    if (status != RUNG_OK)
        return status;
    if (!matrix->data == !matrix->buffer)
        return rungi_fail(RUNG_STATUS_INVALID, "%s has %s; a view has data or a buffer", name,
                          matrix->data ? "data and a buffer" : "neither data nor a buffer");
    if (place_of(matrix) % (uintptr_t)size != 0)
        return rungi_fail(RUNG_STATUS_INVALID, "the memory of %s is not aligned to its element, %lld bytes", name,
                          (long long)size);
    if (!rungi_matrix_batch_span(matrix, batch, &span))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s and the offsets of its items do not fit the address space", name);
    if (matrix->buffer && (matrix->offset + span) * size > matrix->buffer->bytes)
        return rungi_fail(RUNG_STATUS_INVALID, "%s ends %lld bytes into a buffer of %lld", name,
                          ((long long)matrix->offset + span) * size, (long long)matrix->buffer->bytes);
    return RUNG_OK;
}

rung_status rungi_problem_check_memory(const rung_problem *problem)
{
    const rung_matrix *output = rungi_problem_output(problem);
    int64_t items = rungi_problem_items(problem);
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++)
        if (rungi_problem_uses(problem, i))
            status = check_place(rungi_operand_name(i), rungi_problem_view(problem, i), items,
                                 rungi_problem_view(problem, i) == output);
    if (status != RUNG_OK)
        return status;
    if (output->batch_offsets && !rungi_matrix_is_empty(output) && scattered_items_meet(output, items))
        return rungi_fail(RUNG_STATUS_ALIASED, "two items of %s overlap; give each memory of its own",
                          output_name(problem));
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        const rung_matrix *view = rungi_problem_view(problem, i);
        if (view == output || !rungi_problem_uses(problem, i) || (i == RUNGI_C && is_same_view(view, output, items)))
            continue;
        if (rungi_batches_overlap(output, view, items))
            return rungi_fail(RUNG_STATUS_ALIASED, "%s overlaps %s; multiply into another matrix and copy it",
                              output_name(problem), rungi_operand_name(i));
    }
    return RUNG_OK;
}

bool rungi_problem_meets(const rung_problem *problem, const rung_buffer *buffer, int64_t bytes)
{
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        const rung_matrix *view = rungi_problem_view(problem, i);
        int64_t span;
        bool has_memory = view->buffer || view->data;
        if (rungi_matrix_is_empty(view) || !has_memory || !rungi_problem_uses(problem, i) ||
            space_of(view) != buffer->space || !rungi_matrix_batch_span(view, rungi_problem_items(problem), &span))
            continue;
        uintptr_t first = first_byte(view), end = first + (uintptr_t)(span * rungi_type_size(view->type));
        if (first < buffer->place + (uintptr_t)bytes && buffer->place < end)
            return true;
    }
    return false;
}

rung_status rung_problem_check(const rung_problem *problem)
{
    rung_problem read;
    rung_status status = rungi_problem_read(problem, &read);
    if (status == RUNG_OK)
        status = rungi_problem_check_form(&read);
    return status == RUNG_OK ? rungi_problem_check_memory(&read) : status;
}
