/* SPDX-License-Identifier: Apache-2.0 */
/* line_sums.h - weighted sums over a few rows of a block of columns, in double: the arithmetic of checked products. */
#pragma once

#include "base/x86_features.h"
#include "rung/rung.h"

enum {
    RUNGI_PANEL_ROWS = 8,
    RUNGI_PANEL_COLS = 512, /* a panel takes 32 KiB, so it may be on the stack of any thread */
    RUNGI_PANEL_LANES = 8   /* arrays that are combined with panels have this alignment and padding, in elements */
};

typedef struct rungi_panel {
    _Alignas(64) double rows[RUNGI_PANEL_ROWS][RUNGI_PANEL_COLS];
} rungi_panel;

/* RUNGI_PANEL_ROWS rows, in a panel or in a matrix. */
typedef struct rungi_panel_rows {
    const void *first;
    int64_t stride; /* elements from one row to the next */
    int is_f32;     /* else double */
} rungi_panel_rows;

/* Reads `rows` x `cols` elements from (row, col) on. The view is F32, F64 or BF16 in host memory. Other rows of the panel,
 * and the columns up to the next multiple of RUNGI_PANEL_LANES, become 0. */
void rungi_panel_load(const rung_matrix *view, int64_t row, int64_t rows, int64_t col, int64_t cols,
                      rungi_panel *panel);

/* Returns the same rows: in the matrix itself if they are complete and have no gaps, else after rungi_panel_load(). */
rungi_panel_rows rungi_panel_find(const rung_matrix *view, int64_t row, int64_t rows, int64_t col, int64_t cols,
                                  rungi_panel *panel);

/* Returns the rows of a loaded panel. */
rungi_panel_rows rungi_panel_loaded(const rungi_panel *panel);

/* Sums over weighted lines, and over the magnitudes of their elements times `sizes_of`. */
typedef struct rungi_weighted_sums {
    const double *weights, *sizes_of;
    double *sums, *sizes;
} rungi_weighted_sums;

/* Functions for an instruction set of the processor and a type of elements. `cols` is rounded up to a multiple of
 * RUNGI_PANEL_LANES. */
typedef struct rungi_line_sums {
    /* For each of one or two `sets`: adds to sums[i] the products of row i and `weights`, and to sizes[i] those of the magnitudes of
     * row i and `sizes_of`. */
    void (*dot)(const void *first, int64_t stride, int64_t cols, int sets, const rungi_weighted_sums *to);
    /* For each of one or two `sets`: adds to sums[j] the products of column j and `weights`, and to sizes[j] those of its magnitudes
     * and `sizes_of`. The products of a column are added to each other first, so that few roundings meet in a sum of many panels. */
    void (*combine)(const void *first, int64_t stride, int64_t cols, int sets, const rungi_weighted_sums *to);
    /* Like `dot` and `combine`, without sizes. */
    void (*sum_both)(const void *first, int64_t stride, int64_t cols, const double *col_weights,
                     const double row_weights[RUNGI_PANEL_ROWS], double row_sums[RUNGI_PANEL_ROWS], double *col_sums);
    /* Add the magnitudes of each row or column. */
    void (*row_sizes)(const void *first, int64_t stride, int64_t cols, double sizes[RUNGI_PANEL_ROWS]);
    void (*col_sizes)(const void *first, int64_t stride, int64_t cols, double *sizes);
    /* Multiplies each row by its weight. Adds the columns of the result to `col_sums`, the magnitudes of the columns and rows to
     * `col_sizes` and `row_sizes`, and the squares of the rows to `row_squares`. */
    void (*weigh_rows)(const void *first, int64_t stride, int64_t cols, const double weights[RUNGI_PANEL_ROWS],
                       double *col_sums, double *col_sizes, double row_sizes[RUNGI_PANEL_ROWS],
                       double row_squares[RUNGI_PANEL_ROWS]);
    /* The same with rows and columns exchanged. */
    void (*weigh_cols)(const void *first, int64_t stride, int64_t cols, const double *weights,
                       double row_sums[RUNGI_PANEL_ROWS], double row_sizes[RUNGI_PANEL_ROWS], double *col_sizes,
                       double *col_squares);
} rungi_line_sums;

/* Returns the functions for a processor: [0] for double, [1] for F32. */
const rungi_line_sums *const *rungi_line_sums_for(rungi_x86_features features);
