/* SPDX-License-Identifier: Apache-2.0 */
/* line_sums.h - weighted sums over panels of rows, in double: the arithmetic of checked products. A panel holds up to
 * RUNGI_PANEL_ROWS rows of a block of columns, converted to double and padded with zeros. */
#pragma once

#include "rung/rung.h"

enum {
    RUNGI_PANEL_ROWS = 8,
    RUNGI_PANEL_COLS = 512, /* a panel takes 32 KiB, so it may be on the stack of any thread */
    RUNGI_PANEL_LANES = 8   /* arrays that are combined with panels have this alignment and padding, in elements */
};

typedef struct rungi_panel {
    _Alignas(64) double rows[RUNGI_PANEL_ROWS][RUNGI_PANEL_COLS];
} rungi_panel;

/* Reads `rows` x `cols` elements from (row, col) on. The view is F32, F64 or BF16 in host memory. Other rows of the panel,
 * and the columns up to the next multiple of RUNGI_PANEL_LANES, become 0. */
void rungi_panel_load(const rung_matrix *view, int64_t row, int64_t rows, int64_t col, int64_t cols,
                      rungi_panel *panel);

/* Functions for an instruction set of the processor. `cols` is rounded up to a multiple of RUNGI_PANEL_LANES. */
typedef struct rungi_line_sums {
    /* Adds to sums[i] the products of row i and `weights`, and to sizes[i] those of the magnitudes of row i and `sizes_of`. */
    void (*dot)(const rungi_panel *panel, int64_t cols, const double *weights, const double *sizes_of,
                double sums[RUNGI_PANEL_ROWS], double sizes[RUNGI_PANEL_ROWS]);
    /* Adds to sums[j] the products of column j and `weights`, and to sizes[j] those of its magnitudes and `sizes_of`. */
    void (*combine)(const rungi_panel *panel, int64_t cols, const double weights[RUNGI_PANEL_ROWS],
                    const double sizes_of[RUNGI_PANEL_ROWS], double *sums, double *sizes);
    /* Like `dot` and `combine`, without sizes, for one panel of a product. */
    void (*sum_both)(const rungi_panel *panel, int64_t cols, const double *col_weights,
                     const double row_weights[RUNGI_PANEL_ROWS], double row_sums[RUNGI_PANEL_ROWS], double *col_sums);
} rungi_line_sums;

/* Returns the functions for this processor. */
const rungi_line_sums *rungi_line_sums_select(void);
