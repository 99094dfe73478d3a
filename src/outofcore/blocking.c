/* SPDX-License-Identifier: Apache-2.0 */
/* blocking.c - see blocking.h. A panel of A is read once for each column of blocks, one of B once for each row of
 * them, so a block that is larger saves reading, and deeper panels take room from it. Of B two panels are there at a
 * time, of A two strips, each an eighth of a panel:
 *
 *     rows * cols + 2 depth (rows / 8 + cols)  elements fit the memory
 *
 * Deep panels matter: for each, the whole block is read and written once.
 *
 * The bytes moved depend on how many blocks there are and not on their size: blocks are as even as
 * their number allows, and what that leaves is the panels'. */
#include "outofcore/blocking.h"

#include <math.h>

#include "core/assert.h"
#include "core/checked.h"

enum {
    UNIT = 16, /* sizes are multiples of this where they are large enough: kernels like it */
    LARGE_ENOUGH = 64,
    DEEP = 256,     /* panels that kernels multiply as fast as deeper ones, if slower than the whole */
    DEEPEST = 2048, /* deeper gains nothing, and the first is waited for */
    PANELS = 8,     /* at least, so that the first pair is a small part */
    THIN = 32,      /* a panel of a small memory is 1/32 of a block's side */
    WIDE = 1024,    /* a panel of B that is worth packing ... */
    PADDING = 64    /* ... which may have as many columns more */
};

int64_t rungi_strip_rows(int64_t rows)
{
    return rungi_round_up(rungi_divide_up(rows, RUNGI_STRIPS), 16);
}

int64_t rungi_depth_bytes(const rungi_whole *whole, int64_t rows, int64_t cols)
{
    return 2 * whole->in * (rungi_smaller(rungi_strip_rows(rows), rows) + cols + (cols < WIDE ? 0 : PADDING));
}

rungi_whole rungi_whole_of(const rungi_task *problem)
{
    bool reads = problem->alpha != 0;
    return (rungi_whole){.m = problem->a.view.rows,
                         .n = problem->b.view.cols,
                         .k = reads ? problem->a.view.cols : 0,
                         .in = rung_type_size(problem->a.view.type),
                         .sum = rung_type_size(rungi_task_sum_type(problem)),
                         .out = rung_type_size(problem->c.view.type),
                         .reads_c = problem->beta != 0};
}

/* ---- Counting --------------------------------------------------------------------------------------- */

static bool count_bytes(const rungi_whole *whole, rung_outofcore_blocking *blocking)
{
    int64_t a, b, c = 0;
    bool fits = rungi_multiply(whole->m, whole->k, &a) && rungi_multiply(a, whole->in, &a) &&
                rungi_multiply(a, blocking->col_blocks, &a) && rungi_multiply(whole->k, whole->n, &b) &&
                rungi_multiply(b, whole->in, &b) && rungi_multiply(b, blocking->row_blocks, &b) &&
                rungi_multiply(whole->m, whole->n, &c) && rungi_multiply(c, whole->out, &c) &&
                rungi_add(a, b, &blocking->read_bytes) &&
                rungi_add(blocking->read_bytes, whole->reads_c ? c : 0, &blocking->read_bytes);
    blocking->written_bytes = c;
    return fits && rungi_multiply(blocking->block_rows, blocking->block_cols, &blocking->used_bytes) &&
           rungi_multiply(blocking->used_bytes, whole->sum, &blocking->used_bytes) &&
           rungi_multiply_add(rungi_depth_bytes(whole, blocking->block_rows, blocking->block_cols),
                              blocking->panel_depth, &blocking->used_bytes);
}

static double bound_of(const rungi_whole *whole, int64_t memory)
{
    double m = (double)whole->m, n = (double)whole->n, k = (double)whole->k;
    double elements = (double)memory / (double)whole->sum;
    return 2 * m * n * k / sqrt(elements) * (double)whole->in + m * n * (double)(whole->out * (whole->reads_c ? 2 : 1));
}

rung_status rungi_blocking_count(const rungi_whole *whole, rung_outofcore_blocking *blocking)
{
    if (blocking->block_rows < 1 || blocking->block_cols < 1 || blocking->panel_depth < 0 ||
        (blocking->panel_depth == 0) != (whole->k == 0) || blocking->memory_bytes < 1)
        return rung_error_set(
            RUNG_STATUS_INVALID, "blocks of %lld x %lld with panels of %lld do not divide this problem",
            (long long)blocking->block_rows, (long long)blocking->block_cols, (long long)blocking->panel_depth);
    blocking->row_blocks = rungi_divide_up(whole->m, blocking->block_rows);
    blocking->col_blocks = rungi_divide_up(whole->n, blocking->block_cols);
    blocking->panels = whole->k == 0 ? 1 : rungi_divide_up(whole->k, blocking->panel_depth);
    blocking->bound_bytes = bound_of(whole, blocking->memory_bytes);
    int64_t blocks;
    if (!rungi_multiply(blocking->row_blocks, blocking->col_blocks, &blocks) || !count_bytes(whole, blocking))
        return rung_error_set(RUNG_STATUS_TOO_LARGE,
                              "%lld x %lld x %lld transfers more than 2^63 bytes; give more memory",
                              (long long)whole->m, (long long)whole->n, (long long)whole->k);
    return RUNG_OK;
}

rungi_block rungi_block_at(const rungi_whole *whole, const rung_outofcore_blocking *blocking, int64_t index)
{
    RUNGI_ASSERT(index >= 0 && index < blocking->row_blocks * blocking->col_blocks);
    int64_t down = index / blocking->col_blocks, across = index % blocking->col_blocks;
    rungi_block block = {.row = down * blocking->block_rows, .col = across * blocking->block_cols};
    block.rows = rungi_smaller(blocking->block_rows, whole->m - block.row);
    block.cols = rungi_smaller(blocking->block_cols, whole->n - block.col);
    return block;
}

int64_t rungi_panel_depth(const rungi_whole *whole, const rung_outofcore_blocking *blocking, int64_t panel)
{
    RUNGI_ASSERT(panel >= 0 && panel < blocking->panels);
    return rungi_smaller(blocking->panel_depth, whole->k - panel * blocking->panel_depth);
}

/* ---- Searching ---------------------------------------------------------------------------------------- */

/* `size` in so many pieces, each `most` at most, evenly; whole units where they fit. */
static int64_t even_piece(int64_t size, int64_t count, int64_t most, int64_t unit)
{
    RUNGI_ASSERT(count > 0 && unit > 0);
    int64_t piece = rungi_divide_up(size, count);
    int64_t rounded = rungi_round_up(piece, unit);
    return piece >= LARGE_ENOUGH && rounded <= most ? rounded : piece;
}

/* The most columns of a block of so many rows, with panels of this depth; 0: there is no room. */
static int64_t widest(const rungi_whole *whole, const rungi_room *room, int64_t rows, int64_t depth)
{
    double beside = 2.0 * (double)depth * (double)whole->in,
           strip = (double)rungi_depth_bytes(whole, rows, 0) * (double)depth;
    double left = (double)room->memory - strip, each = (double)rows * (double)whole->sum + beside, cols = left / each;
    if (cols >= WIDE)
        cols = fmax((left - PADDING * beside) / each, WIDE - 1);
    if (room->buffer > 0) {
        double most = (double)room->buffer;
        cols = fmin(cols, most / ((double)rows * (double)whole->sum));
        if (depth > 0)
            cols = strip > 2 * most ? 0 : fmin(cols, 2 * most / beside);
    }
    return cols < 1 ? 0 : cols >= (double)whole->n ? whole->n : (int64_t)cols;
}

/* The deepest panels that fit beside a block. */
static int64_t deepest(const rungi_whole *whole, const rungi_room *room, int64_t rows, int64_t cols)
{
    int64_t left = room->memory - rows * cols * whole->sum;
    int64_t depth = left / rungi_depth_bytes(whole, rows, cols);
    if (room->buffer > 0)
        depth = rungi_smaller(depth, room->buffer / (whole->in * (rows > cols ? rows : cols)));
    return depth;
}

static int64_t choose_depth(const rungi_whole *whole, int64_t most)
{
    int64_t wanted = rungi_divide_up(whole->k, PANELS);
    wanted = wanted < DEEP ? DEEP : rungi_smaller(wanted, DEEPEST);
    most = rungi_smaller(most, rungi_smaller(wanted, whole->k));
    return whole->k == 0 ? 0 : even_piece(whole->k, rungi_divide_up(whole->k, most), most, UNIT);
}

/* The depth for which room is kept beside a block, before what is left makes it more. */
static int64_t thinnest_of(const rungi_whole *whole, const rungi_room *room)
{
    double elements = room->memory > 0 ? (double)room->memory / (double)whole->sum : 0;
    int64_t depth = rungi_smaller(DEEP, (int64_t)(sqrt(elements) / THIN));
    return rungi_smaller(depth < 1 ? 1 : depth, whole->k);
}

/* Returns the bytes of A and B that are transferred, in double, to be compared. */
static double cost_of(const rungi_whole *whole, int64_t row_blocks, int64_t col_blocks)
{
    return (double)whole->k * ((double)whole->m * (double)col_blocks + (double)whole->n * (double)row_blocks);
}

/* Tries so many rows of blocks, and keeps the best so far: the least bytes, then the deepest panels, then what was
 * there before. */
static void try_rows(const rungi_whole *whole, const rungi_room *room, int64_t row_blocks, int64_t unit,
                     rung_outofcore_blocking *best, double *cost)
{
    int64_t rows = even_piece(whole->m, row_blocks, whole->m, unit), thinnest = thinnest_of(whole, room);
    row_blocks = rungi_divide_up(whole->m, rows);
    int64_t cols = widest(whole, room, rows, thinnest);
    if (cols == 0)
        return;
    int64_t col_blocks = rungi_divide_up(whole->n, cols), wanted = rungi_divide_up(room->blocks, row_blocks);
    if (col_blocks < wanted)
        col_blocks = rungi_smaller(wanted, whole->n);
    cols = even_piece(whole->n, col_blocks, cols, unit);
    col_blocks = rungi_divide_up(whole->n, cols);
    double now = cost_of(whole, row_blocks, col_blocks);
    bool is_enough = row_blocks * col_blocks >= room->blocks || rows == 1;
    if (!is_enough || now > *cost || rows * cols * whole->sum > room->memory)
        return;
    int64_t most = deepest(whole, room, rows, cols);
    if (most < 1 && whole->k > 0)
        return;
    int64_t depth = choose_depth(whole, most);
    if (now == *cost && (depth <= best->panel_depth || unit == 1))
        return;
    *cost = now;
    best->block_rows = rows;
    best->block_cols = cols;
    best->panel_depth = depth;
}

/* More rows of blocks than some read more of B alone than the best does of both. */
static void try_all(const rungi_whole *whole, const rungi_room *room, int64_t unit, rung_outofcore_blocking *best,
                    double *cost)
{
    for (int64_t i = 1; i <= whole->m && cost_of(whole, i, 1) <= *cost; i += i < 4096 ? 1 : i / 1024)
        try_rows(whole, room, i, unit, best, cost);
    if (isinf(*cost))
        try_rows(whole, room, whole->m, unit, best, cost);
}

rung_status rungi_blocking_choose(const rungi_whole *whole, const rungi_room *room, rung_outofcore_blocking *blocking)
{
    double cost = INFINITY;
    int64_t elements, bytes;
    *blocking = rung_outofcore_blocking_default();
    blocking->block_rows = blocking->block_cols = 1;
    blocking->memory_bytes = room->memory;
    if (!rungi_multiply(whole->m > 0 ? whole->m : 1, whole->n > 0 ? whole->n : 1, &elements) ||
        !rungi_multiply(elements, UNIT * whole->sum, &bytes))
        return rung_error_set(RUNG_STATUS_TOO_LARGE, "a result of %lld x %lld has more than 2^63 bytes",
                              (long long)whole->m, (long long)whole->n);
    if (whole->m == 0 || whole->n == 0) {
        blocking->panel_depth = whole->k > 0;
        return rungi_blocking_count(whole, blocking);
    }
    try_all(whole, room, UNIT, blocking, &cost);
    try_all(whole, room, 1, blocking, &cost); /* where rounding up costs a block more */
    if (isinf(cost))
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%lld bytes of memory are too few for a block of the result and four panels; give at "
                              "least a few KiB",
                              (long long)room->memory);
    return rungi_blocking_count(whole, blocking);
}
