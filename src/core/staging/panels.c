/* SPDX-License-Identifier: Apache-2.0 */
/* panels.c - chooses how a problem is split, so that copying one panel overlaps with computing another.
 *
 * Panels of rows share B and panels of columns share A. The longer side of C is split, which leaves the smaller operand
 * to be copied before the panels. The items of a batch are not split. */
#include "core/staging/panels.h"

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "core/matrix.h"

/* Copying this many bytes takes about a millisecond, which makes the cost of a launch negligible. */
static const int64_t panel_bytes = (int64_t)4 << 20;
enum {
    PANELS_MIN = 4,  /* with fewer panels, little of the copies overlaps with computation */
    PANELS_MAX = 64, /* more panels do not overlap more */
    PANELS_PER_THRESHOLD = 8,
    PANEL_LINES_MULTIPLE = 256,   /* rows or columns per panel are a multiple of this, */
    PANEL_LINES_MULTIPLE_MIN = 16 /* or of this in small problems */
};

bool rungi_matrix_dense_batch(const rung_matrix *view, int64_t batch, rung_matrix *dense, int64_t *items,
                              int64_t *bytes)
{
    int64_t elements;
    *items = rungi_matrix_is_batch_invariant(view) && batch > 1 ? 1 : batch;
    if (!rungi_matrix_dense(view, dense, &elements) ||
        !rungi_checked_multiply(rungi_type_bytes(view->type, elements), *items, bytes))
        return false;
    dense->batch_stride = *items > 1 ? elements : 0;
    return true;
}

bool rungi_panels_read_result(const rung_problem *problem)
{
    return problem->beta != 0.0 && rungi_matrix_is_absent(rungi_problem_addend(problem));
}

bool rungi_panels_is_split(const rungi_panels *panels, const rung_problem *problem, rungi_operand operand)
{
    const rung_matrix *view = rungi_problem_view(problem, operand);
    switch (panels->axis) {
    case RUNGI_PANELS_ROWS: return operand != RUNGI_B && view->row_stride != 0;
    case RUNGI_PANELS_COLS: return operand != RUNGI_A && view->col_stride != 0;
    case RUNGI_PANELS_ITEMS: return !rungi_matrix_is_batch_invariant(view);
    default: return true;
    }
}

/* Counts the bytes of all operands, and the bytes copied with the panels. Returns false on overflow. */
static bool count_operand_bytes(const rungi_panels *panels, const rung_problem *problem, int64_t *all, int64_t *copied)
{
    *all = *copied = 0;
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        rung_matrix dense;
        int64_t items, bytes;
        int copies = i == RUNGI_C && rungi_panels_read_result(problem) ? 2 : 1; /* to the device and back */
        if (!rungi_matrix_dense_batch(rungi_problem_view(problem, i), problem->batch, &dense, &items, &bytes) ||
            !rungi_checked_add(*all, bytes, all))
            return false;
        if (rungi_panels_is_split(panels, problem, i) && !rungi_checked_multiply_add(bytes, copies, copied))
            return false;
    }
    return true;
}

/* Returns the rows, columns or items per panel: a multiple of `unit`, halved down to `unit_min` while there would be
 * fewer than PANELS_MIN panels. */
static int64_t panel_extent(const rungi_panels *panels, int64_t copied, int64_t unit, int64_t unit_min)
{
    int64_t extent = panels->extent;
    RUNGI_ASSERT(extent > 0 && unit_min > 0 && unit >= unit_min);
    int64_t bytes_each = rungi_max(copied / extent, 1);
    int64_t efficient = rungi_max(rungi_ceil_divide(panels->bytes, bytes_each), rungi_ceil_divide(extent, PANELS_MAX));
    while (unit > unit_min && rungi_ceil_divide(extent, rungi_round_up(efficient, unit)) < PANELS_MIN)
        unit /= 2;
    return rungi_min(rungi_round_up(efficient, unit), rungi_round_up(rungi_ceil_divide(extent, PANELS_MIN), unit));
}

/* Splits the longer side of C. A square C is split along its larger stride, so that its panels have the fewest gaps. */
static rungi_panel_axis choose_axis(const rung_problem *problem)
{
    const rung_matrix *c = &problem->c;
    if (problem->batch > 1)
        return RUNGI_PANELS_ITEMS;
    if (c->rows != c->cols)
        return c->rows > c->cols ? RUNGI_PANELS_ROWS : RUNGI_PANELS_COLS;
    return c->row_stride >= c->col_stride ? RUNGI_PANELS_ROWS : RUNGI_PANELS_COLS;
}

rungi_panels rungi_panels_of(const rung_problem *problem, int64_t threshold)
{
    const rungi_panels whole = {.axis = RUNGI_PANELS_WHOLE, .extent = 1, .step = 1, .count = 1};
    const rung_matrix *c = &problem->c;
    rungi_panels panels = {.axis = choose_axis(problem),
                           .bytes = rungi_min(panel_bytes, threshold / PANELS_PER_THRESHOLD + 1)};
    int64_t all, copied;
    bool is_whole = problem->a_quantization || problem->b_quantization || rung_type_size(problem->a.type) == 0 ||
                    rung_type_size(problem->b.type) == 0; /* scales are not split */
    if (threshold == 0 || is_whole || rungi_matrix_is_empty(c) ||
        !count_operand_bytes(&panels, problem, &all, &copied) || all <= threshold)
        return whole;
    bool is_batch = panels.axis == RUNGI_PANELS_ITEMS;
    panels.extent = is_batch ? problem->batch : panels.axis == RUNGI_PANELS_ROWS ? c->rows : c->cols;
    panels.step = panel_extent(&panels, copied, is_batch ? 1 : PANEL_LINES_MULTIPLE,
                               is_batch ? 1 : PANEL_LINES_MULTIPLE_MIN);
    panels.count = rungi_ceil_divide(panels.extent, panels.step);
    return panels.count > 1 ? panels : whole;
}

/* Restricts a view to `count` rows or columns from `first`. The offset of an empty view stays 0. */
static void select_lines(rung_matrix *view, bool is_rows, int64_t first, int64_t count)
{
    if (!rungi_matrix_is_empty(view))
        view->offset += first * (is_rows ? view->row_stride : view->col_stride);
    *(is_rows ? &view->rows : &view->cols) = count;
}

static void skip_items(rung_matrix *view, int64_t first)
{
    if (rungi_matrix_is_empty(view))
        return;
    if (view->batch_offsets)
        view->batch_offsets += first;
    else
        view->offset += first * view->batch_stride;
}

rung_problem rungi_panels_problem(const rungi_panels *panels, const rung_problem *problem, int64_t index)
{
    rung_problem panel = *problem;
    RUNGI_ASSERT(index >= 0 && index < panels->count && panels->step > 0);
    int64_t first = index * panels->step, count = rungi_min(panels->step, panels->extent - first);
    bool is_rows = panels->axis == RUNGI_PANELS_ROWS;
    if (panels->axis == RUNGI_PANELS_WHOLE)
        return panel;
    if (panels->axis == RUNGI_PANELS_ITEMS)
        panel.batch = count;
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        rung_matrix *view = rungi_problem_operand(&panel, i);
        bool is_optional = i > RUNGI_C;
        if (panels->axis == RUNGI_PANELS_ITEMS)
            skip_items(view, first);
        else if (i != (is_rows ? RUNGI_B : RUNGI_A) && !(is_optional && rungi_matrix_is_empty(view)))
            select_lines(view, is_rows, first, count);
    }
    return panel;
}
