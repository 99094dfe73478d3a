/* SPDX-License-Identifier: Apache-2.0 */
/* blocking.c - see blocking.h. Every panel of A is read once per column of blocks, and every panel of B once per row of
 * blocks. Larger blocks therefore need fewer reads, but deeper panels leave less memory for the block. Memory holds two
 * panels of B and two slices of A, each slice an eighth of a panel:
 *
 *     rows * cols + 2 depth (rows / 8 + cols)  elements fit in the memory
 *
 * Deep panels matter because each panel reads and writes the whole block once.
 *
 * The bytes transferred depend on the number of blocks, not on their sizes. Blocks are therefore as equal as their number
 * allows, and panels get the memory that remains. */
#include "outofcore/blocking.h"

#include <math.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/error.h"

enum {
    SIZE_MULTIPLE = 16, /* large sizes are multiples of this: micro-kernels then have no edges */
    MIN_ROUNDED_SIZE = 64,
    MIN_PANEL_DEPTH = 256,         /* from here on, kernels run at nearly full speed */
    MAX_PANEL_DEPTH = 2048,        /* deeper panels gain nothing and delay the first multiplication */
    MIN_PANELS = 8,                /* reading the first panels, which nothing overlaps, is then a small part */
    SMALL_MEMORY_PANEL_RATIO = 32, /* with little memory, the depth is 1/32 of a block's side */
    MIN_PACKED_COLUMNS = 1024,     /* a panel of B with fewer columns is not packed */
    PACKED_PADDING_COLUMNS = 64    /* columns that packing may add */
};

int64_t rungi_outofcore_slice_rows(int64_t rows)
{
    return rungi_round_up(rungi_ceil_divide(rows, RUNGI_OUTOFCORE_SLICES_PER_PANEL), 16);
}

int64_t rungi_outofcore_panel_bytes_per_k(const rungi_outofcore_sizes *sizes, int64_t rows, int64_t cols)
{
    int64_t padding = cols < MIN_PACKED_COLUMNS ? 0 : PACKED_PADDING_COLUMNS;
    return 2 * sizes->input_bytes * (rungi_min(rungi_outofcore_slice_rows(rows), rows) + cols + padding);
}

rungi_outofcore_sizes rungi_outofcore_sizes_of(const rungi_outofcore_problem *problem)
{
    return (rungi_outofcore_sizes){.m = problem->a.view.rows,
                                   .n = problem->b.view.cols,
                                   .k = problem->alpha != 0 ? problem->a.view.cols : 0,
                                   .input_bytes = rung_type_size(problem->a.view.type),
                                   .sum_bytes = rung_type_size(rungi_outofcore_problem_accumulator(problem)),
                                   .output_bytes = rung_type_size(problem->c.view.type),
                                   .reads_c0 = problem->beta != 0};
}

/* ---- Counting --------------------------------------------------------------------------------------- */

/* Computes x * y * z * factor. Returns false if the product overflows. */
static bool multiply_four(int64_t x, int64_t y, int64_t z, int64_t factor, int64_t *product)
{
    return rungi_checked_multiply(x, y, product) && rungi_checked_multiply(*product, z, product) &&
           rungi_checked_multiply(*product, factor, product);
}

static bool count_bytes(const rungi_outofcore_sizes *sizes, rung_outofcore_blocking *blocking)
{
    int64_t a, b, *read = &blocking->read_bytes, *written = &blocking->written_bytes, *used = &blocking->used_bytes;
    int64_t bytes_per_k = rungi_outofcore_panel_bytes_per_k(sizes, blocking->block_rows, blocking->block_cols);
    *written = 0;
    return multiply_four(sizes->m, sizes->k, sizes->input_bytes, blocking->col_blocks, &a) &&
           multiply_four(sizes->k, sizes->n, sizes->input_bytes, blocking->row_blocks, &b) &&
           multiply_four(sizes->m, sizes->n, sizes->output_bytes, 1, written) && rungi_checked_add(a, b, read) &&
           rungi_checked_add(*read, sizes->reads_c0 ? *written : 0, read) &&
           multiply_four(blocking->block_rows, blocking->block_cols, sizes->sum_bytes, 1, used) &&
           rungi_checked_multiply_add(bytes_per_k, blocking->panel_depth, used);
}

static double lower_bound_bytes(const rungi_outofcore_sizes *sizes, int64_t memory)
{
    double m = (double)sizes->m, n = (double)sizes->n, k = (double)sizes->k;
    double elements = (double)memory / (double)sizes->sum_bytes;
    return 2 * m * n * k / sqrt(elements) * (double)sizes->input_bytes +
           m * n * (double)(sizes->output_bytes * (sizes->reads_c0 ? 2 : 1));
}

rung_status rungi_blocking_count(const rungi_outofcore_sizes *sizes, rung_outofcore_blocking *blocking)
{
    if (blocking->block_rows < 1 || blocking->block_cols < 1 || blocking->panel_depth < 0 ||
        (blocking->panel_depth == 0) != (sizes->k == 0) || blocking->memory_bytes < 1)
        return rungi_invalid("blocks of %lld x %lld with panels of %lld do not divide this problem",
                             (long long)blocking->block_rows, (long long)blocking->block_cols,
                             (long long)blocking->panel_depth);
    blocking->row_blocks = rungi_ceil_divide(sizes->m, blocking->block_rows);
    blocking->col_blocks = rungi_ceil_divide(sizes->n, blocking->block_cols);
    blocking->panels = sizes->k == 0 ? 1 : rungi_ceil_divide(sizes->k, blocking->panel_depth);
    blocking->bound_bytes = lower_bound_bytes(sizes, blocking->memory_bytes);
    int64_t blocks;
    if (!rungi_checked_multiply(blocking->row_blocks, blocking->col_blocks, &blocks) || !count_bytes(sizes, blocking))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%lld x %lld x %lld transfers more than 2^63 bytes; give more memory",
                          (long long)sizes->m, (long long)sizes->n, (long long)sizes->k);
    return RUNG_OK;
}

rungi_outofcore_block rungi_outofcore_block_at(const rungi_outofcore_sizes *sizes,
                                               const rung_outofcore_blocking *blocking, int64_t index)
{
    RUNGI_ASSERT(index >= 0 && index < blocking->row_blocks * blocking->col_blocks);
    rungi_outofcore_block block = {.row = index / blocking->col_blocks * blocking->block_rows,
                                   .col = index % blocking->col_blocks * blocking->block_cols};
    block.rows = rungi_min(blocking->block_rows, sizes->m - block.row);
    block.cols = rungi_min(blocking->block_cols, sizes->n - block.col);
    return block;
}

int64_t rungi_outofcore_panel_depth(const rungi_outofcore_sizes *sizes, const rung_outofcore_blocking *blocking,
                                    int64_t panel)
{
    RUNGI_ASSERT(panel >= 0 && panel < blocking->panels);
    return rungi_min(blocking->panel_depth, sizes->k - panel * blocking->panel_depth);
}

/* ---- Searching ---------------------------------------------------------------------------------------- */

/* Returns the size of `count` equal parts of `size`, rounded up to a multiple of `multiple` if that is at most `max`. */
static int64_t even_size(int64_t size, int64_t count, int64_t max, int64_t multiple)
{
    RUNGI_ASSERT(count > 0 && multiple > 0);
    int64_t part = rungi_ceil_divide(size, count);
    int64_t rounded = rungi_round_up(part, multiple);
    return part >= MIN_ROUNDED_SIZE && rounded <= max ? rounded : part;
}

/* Returns the maximum number of columns of a block with `rows` rows and panels of this depth; 0 if nothing fits. */
static int64_t max_block_cols(const rungi_outofcore_sizes *sizes, const rungi_outofcore_limits *limits, int64_t rows,
                              int64_t depth)
{
    double panel_bytes_per_col = 2.0 * (double)depth * (double)sizes->input_bytes;
    double slice_bytes = (double)rungi_outofcore_panel_bytes_per_k(sizes, rows, 0) * (double)depth;
    double block_bytes_per_col = (double)rows * (double)sizes->sum_bytes;
    double available = (double)limits->memory - slice_bytes;
    double bytes_per_col = block_bytes_per_col + panel_bytes_per_col, cols = available / bytes_per_col;
    if (cols >= MIN_PACKED_COLUMNS)
        cols = fmax((available - PACKED_PADDING_COLUMNS * panel_bytes_per_col) / bytes_per_col, MIN_PACKED_COLUMNS - 1);
    if (limits->max_buffer_bytes > 0) {
        double max_bytes = (double)limits->max_buffer_bytes;
        cols = fmin(cols, max_bytes / block_bytes_per_col);
        if (depth > 0)
            cols = slice_bytes > 2 * max_bytes ? 0 : fmin(cols, 2 * max_bytes / panel_bytes_per_col);
    }
    return cols < 1 ? 0 : cols >= (double)sizes->n ? sizes->n : (int64_t)cols;
}

/* Returns the maximum depth of panels that fit in the memory together with a block. */
static int64_t max_panel_depth(const rungi_outofcore_sizes *sizes, const rungi_outofcore_limits *limits, int64_t rows,
                               int64_t cols)
{
    int64_t available = limits->memory - rows * cols * sizes->sum_bytes;
    int64_t depth = available / rungi_outofcore_panel_bytes_per_k(sizes, rows, cols);
    if (limits->max_buffer_bytes > 0)
        depth = rungi_min(depth, limits->max_buffer_bytes / (sizes->input_bytes * rungi_max(rows, cols)));
    return depth;
}

static int64_t choose_depth(const rungi_outofcore_sizes *sizes, int64_t max)
{
    int64_t depth = rungi_ceil_divide(sizes->k, MIN_PANELS);
    depth = rungi_max(MIN_PANEL_DEPTH, rungi_min(depth, MAX_PANEL_DEPTH));
    max = rungi_min(max, rungi_min(depth, sizes->k));
    return sizes->k == 0 ? 0 : even_size(sizes->k, rungi_ceil_divide(sizes->k, max), max, SIZE_MULTIPLE);
}

/* Returns the depth for which memory is reserved before the block's columns are chosen. */
static int64_t min_panel_depth(const rungi_outofcore_sizes *sizes, const rungi_outofcore_limits *limits)
{
    double elements = limits->memory > 0 ? (double)limits->memory / (double)sizes->sum_bytes : 0;
    int64_t depth = rungi_min(MIN_PANEL_DEPTH, (int64_t)(sqrt(elements) / SMALL_MEMORY_PANEL_RATIO));
    return rungi_min(rungi_max(depth, 1), sizes->k);
}

/* Returns the elements of A and B that are transferred. */
static double cost_of(const rungi_outofcore_sizes *sizes, int64_t row_blocks, int64_t col_blocks)
{
    return (double)sizes->k * ((double)sizes->m * (double)col_blocks + (double)sizes->n * (double)row_blocks);
}

/* Tries `row_blocks` rows of blocks and updates *best if fewer elements are transferred, or as many with deeper panels. */
static void try_rows(const rungi_outofcore_sizes *sizes, const rungi_outofcore_limits *limits, int64_t row_blocks,
                     int64_t multiple, rung_outofcore_blocking *best, double *best_cost)
{
    int64_t rows = even_size(sizes->m, row_blocks, sizes->m, multiple);
    row_blocks = rungi_ceil_divide(sizes->m, rows);
    int64_t cols = max_block_cols(sizes, limits, rows, min_panel_depth(sizes, limits));
    if (cols == 0)
        return;
    int64_t col_blocks = rungi_ceil_divide(sizes->n, cols);
    int64_t min_col_blocks = rungi_ceil_divide(limits->min_blocks, row_blocks);
    if (col_blocks < min_col_blocks)
        col_blocks = rungi_min(min_col_blocks, sizes->n);
    cols = even_size(sizes->n, col_blocks, cols, multiple);
    col_blocks = rungi_ceil_divide(sizes->n, cols);
    double cost = cost_of(sizes, row_blocks, col_blocks);
    bool has_enough_blocks = row_blocks * col_blocks >= limits->min_blocks || rows == 1;
    if (!has_enough_blocks || cost > *best_cost || rows * cols * sizes->sum_bytes > limits->memory)
        return;
    int64_t max_depth = max_panel_depth(sizes, limits, rows, cols);
    if (max_depth < 1 && sizes->k > 0)
        return;
    int64_t depth = choose_depth(sizes, max_depth);
    if (cost == *best_cost && (depth <= best->panel_depth || multiple == 1))
        return;
    *best_cost = cost;
    best->block_rows = rows;
    best->block_cols = cols;
    best->panel_depth = depth;
}

/* Tries all numbers of rows of blocks. The search ends where reading B alone costs more than the best choice. */
static void try_all(const rungi_outofcore_sizes *sizes, const rungi_outofcore_limits *limits, int64_t multiple,
                    rung_outofcore_blocking *best, double *best_cost)
{
    for (int64_t i = 1; i <= sizes->m && cost_of(sizes, i, 1) <= *best_cost; i += i < 4096 ? 1 : i / 1024)
        try_rows(sizes, limits, i, multiple, best, best_cost);
    if (isinf(*best_cost))
        try_rows(sizes, limits, sizes->m, multiple, best, best_cost);
}

rung_status rungi_blocking_choose(const rungi_outofcore_sizes *sizes, const rungi_outofcore_limits *limits,
                                  rung_outofcore_blocking *blocking)
{
    double cost = INFINITY;
    int64_t bytes;
    *blocking = rung_outofcore_blocking_default();
    blocking->block_rows = blocking->block_cols = 1;
    blocking->memory_bytes = limits->memory;
    if (!multiply_four(rungi_max(sizes->m, 1), rungi_max(sizes->n, 1), SIZE_MULTIPLE, sizes->sum_bytes, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "a result of %lld x %lld has more than 2^63 bytes",
                          (long long)sizes->m, (long long)sizes->n);
    if (sizes->m == 0 || sizes->n == 0) {
        blocking->panel_depth = sizes->k > 0;
        return rungi_blocking_count(sizes, blocking);
    }
    try_all(sizes, limits, SIZE_MULTIPLE, blocking, &cost);
    try_all(sizes, limits, 1, blocking, &cost); /* in case rounding up costs an additional block */
    if (isinf(cost))
        return rungi_invalid("%lld bytes of memory are too few for a block of the result and four panels; give at "
                             "least a few KiB",
                             (long long)limits->memory);
    return rungi_blocking_count(sizes, blocking);
}
