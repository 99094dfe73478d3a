/* SPDX-License-Identifier: Apache-2.0 */
/* panels.h - splits a problem into panels of C. Each panel is a problem by itself. */
#pragma once

#include "core/problem.h"

typedef enum rungi_panel_axis {
    RUNGI_PANELS_WHOLE,
    RUNGI_PANELS_ROWS,
    RUNGI_PANELS_COLS,
    RUNGI_PANELS_ITEMS
} rungi_panel_axis;

typedef struct rungi_panels {
    rungi_panel_axis axis; /* the axis of C that is split */
    int64_t extent;        /* rows, columns or items of C */
    int64_t step;          /* rows, columns or items per panel; the last panel may have fewer */
    int64_t count;         /* panels */
    int64_t bytes;         /* bytes per copy that make a copy efficient */
} rungi_panels;

/* Splits a normalized problem whose operands have more than `threshold` bytes together. Smaller problems stay whole; a
 * threshold of 0 never splits. */
rungi_panels rungi_panels_of(const rung_problem *problem, int64_t threshold);

/* Returns whether the panels read different parts of the operand. */
bool rungi_panels_is_split(const rungi_panels *panels, const rung_problem *problem, rungi_operand operand);

/* Returns the problem of one panel, with views into the problem's memory. */
rung_problem rungi_panels_problem(const rungi_panels *panels, const rung_problem *problem, int64_t index);

/* Returns whether a normalized problem reads the memory of its result, since beta is not 0. */
bool rungi_panels_read_result(const rung_problem *problem);

/* Describes a dense copy of the view without memory, with the number of different items in a batch and their bytes.
 * Returns false on overflow. */
bool rungi_matrix_dense_batch(const rung_matrix *view, int64_t batch, rung_matrix *dense, int64_t *items,
                              int64_t *bytes);
