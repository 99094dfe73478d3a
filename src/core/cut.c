/* SPDX-License-Identifier: Apache-2.0 */
/* cut.c - where a problem is cut, so that copying one part hides behind computing another.
 *
 * Panels of rows share B, panels of columns share A: the longer side of C is cut, since it
 * leaves the smaller operand to be sent first. The items of a batch need no such choice. */
#include "core/cut.h"

#include "core/assert.h"
#include "core/checked.h"
#include "core/matrix.h"

/* A panel is worth its launch from about a millisecond of copying on; many panels gain
 * nothing over some, and a few leave their ends uncovered. */
static const int64_t panel_bytes = (int64_t)4 << 20;
enum { PANELS_MIN = 4, PANELS_MAX = 64, PANELS_IN_THRESHOLD = 8, LINES = 256, LINES_MIN = 16 };

bool rungi_cut_dense(const rung_matrix *view, int64_t batch, rung_matrix *dense, int64_t *items, int64_t *bytes)
{
    int64_t elements;
    *items = rungi_matrix_is_shared(view) && batch > 1 ? 1 : batch;
    if (!rungi_matrix_dense(view, dense, &elements) ||
        !rungi_multiply(elements * rung_type_size(view->type), *items, bytes))
        return false;
    dense->batch_stride = *items > 1 ? elements : 0;
    return true;
}

bool rungi_cut_parts(const rungi_cut *cut, const rung_problem *problem, rungi_operand operand)
{
    const rung_matrix *view = rungi_problem_view(problem, operand);
    switch (cut->along) {
    case RUNGI_WHOLE: break;
    case RUNGI_ROWS: return operand != RUNGI_B && view->row_stride != 0;
    case RUNGI_COLS: return operand != RUNGI_A && view->col_stride != 0;
    case RUNGI_ITEMS: return !rungi_matrix_is_shared(view);
    }
    return true;
}

/* The bytes of all operands, and of those that go with the panels. False on overflow. */
static bool count_bytes(const rungi_cut *cut, const rung_problem *problem, int64_t *all, int64_t *moved)
{
    *all = *moved = 0;
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        rung_matrix dense;
        int64_t items, bytes, times = 1;
        if (i == RUNGI_C && problem->beta != 0.0 && rungi_matrix_is_absent(rungi_problem_addend(problem)))
            times = 2; /* there and back */
        if (!rungi_cut_dense(rungi_problem_view(problem, i), problem->batch, &dense, &items, &bytes) ||
            !rungi_add(*all, bytes, all))
            return false;
        if (rungi_cut_parts(cut, problem, i) && !rungi_multiply_add(bytes, times, moved))
            return false;
    }
    return true;
}

/* Whole units, each panel worth it and not too many; fewer to a panel where there would
 * hardly be any panels. */
static int64_t step_of(const rungi_cut *cut, int64_t moved, int64_t unit, int64_t unit_min)
{
    RUNGI_ASSERT(cut->extent > 0 && unit_min > 0 && unit >= unit_min);
    int64_t each = moved / cut->extent > 0 ? moved / cut->extent : 1;
    int64_t worth = rungi_divide_up(cut->bytes, each);
    int64_t least = rungi_divide_up(cut->extent, PANELS_MAX);
    if (worth < least)
        worth = least;
    while (unit > unit_min && rungi_divide_up(cut->extent, rungi_round_up(worth, unit)) < PANELS_MIN)
        unit /= 2;
    int64_t step = rungi_round_up(worth, unit);
    int64_t most = rungi_round_up(rungi_divide_up(cut->extent, PANELS_MIN), unit);
    return rungi_smaller(step, most);
}

/* Of a square, so that C's panels have the fewest gaps. */
static rungi_along direction_of(const rung_problem *problem)
{
    const rung_matrix *c = &problem->c;
    if (problem->batch > 1)
        return RUNGI_ITEMS;
    if (c->rows != c->cols)
        return c->rows > c->cols ? RUNGI_ROWS : RUNGI_COLS;
    return c->row_stride >= c->col_stride ? RUNGI_ROWS : RUNGI_COLS;
}

rungi_cut rungi_cut_of(const rung_problem *problem, int64_t threshold)
{
    const rungi_cut whole = {.along = RUNGI_WHOLE, .extent = 1, .step = 1, .count = 1};
    const rung_matrix *c = &problem->c;
    rungi_cut cut = {.along = direction_of(problem),
                     .bytes = rungi_smaller(panel_bytes, threshold / PANELS_IN_THRESHOLD + 1)};
    int64_t all, moved;
    if (threshold == 0 || rungi_matrix_is_empty(c) || !count_bytes(&cut, problem, &all, &moved) || all <= threshold)
        return whole;
    bool is_batch = cut.along == RUNGI_ITEMS;
    cut.extent = is_batch ? problem->batch : cut.along == RUNGI_ROWS ? c->rows : c->cols;
    cut.step = step_of(&cut, moved, is_batch ? 1 : LINES, is_batch ? 1 : LINES_MIN);
    cut.count = rungi_divide_up(cut.extent, cut.step);
    return cut.count > 1 ? cut : whole;
}

/* `count` rows or columns from `first` on. A view of nothing has no place to move. */
static void cut_lines(rung_matrix *view, bool rows, int64_t first, int64_t count)
{
    if (!rungi_matrix_is_empty(view))
        view->offset += first * (rows ? view->row_stride : view->col_stride);
    *(rows ? &view->rows : &view->cols) = count;
}

static void cut_items(rung_matrix *view, int64_t first)
{
    if (rungi_matrix_is_empty(view))
        return;
    if (view->batch_offsets)
        view->batch_offsets += first;
    else
        view->offset += first * view->batch_stride;
}

rung_problem rungi_cut_panel(const rungi_cut *cut, const rung_problem *problem, int64_t index)
{
    rung_problem panel = *problem;
    RUNGI_ASSERT(index >= 0 && index < cut->count && cut->step > 0);
    int64_t first = index * cut->step, count = rungi_smaller(cut->step, cut->extent - first);
    bool rows = cut->along == RUNGI_ROWS;
    if (cut->along == RUNGI_WHOLE)
        return panel;
    if (cut->along == RUNGI_ITEMS)
        panel.batch = count;
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        rung_matrix *view = rungi_problem_place(&panel, i);
        bool is_added = i == RUNGI_BIAS || i == RUNGI_RESIDUAL || i == RUNGI_ADDEND;
        if (cut->along == RUNGI_ITEMS)
            cut_items(view, first);
        else if (i != (rows ? RUNGI_B : RUNGI_A) && !(is_added && rungi_matrix_is_empty(view)))
            cut_lines(view, rows, first, count);
    }
    return panel;
}
