/* SPDX-License-Identifier: Apache-2.0 */
/* product_sums.c - see product_check.h. Computes the sums of a product of floating-point numbers and compares them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/try.h"
#include "core/checked/product_check_types.h"
#include "core/problem.h"
#include "core/quantization.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

enum { ALIGNMENT = 64 };

/* Reserves `count` elements of `size` bytes behind `*bytes`, and sets `array` if there is memory. */
static bool reserve(char *memory, int64_t *bytes, int64_t count, int64_t size, void *array)
{
    int64_t needed;
    if (memory) {
        void *address = memory + *bytes;
        memcpy(array, &address, sizeof address);
    }
    return rungi_checked_multiply(count, size, &needed) && rungi_checked_add(*bytes, needed, bytes) &&
           rungi_checked_add(*bytes, ALIGNMENT - 1, bytes) && ((*bytes &= -(int64_t)ALIGNMENT), true);
}

static bool reserve_doubles(char *memory, int64_t *bytes, int64_t arrays, int64_t count, double **array)
{
    return rungi_checked_multiply(arrays, count, &count) && reserve(memory, bytes, count, sizeof(double), array);
}

static bool reserve_integers(char *memory, int64_t *bytes, int64_t count, uint32_t **array)
{
    return reserve(memory, bytes, count, sizeof(uint32_t), array);
}

static bool reserve_axis(const rungi_product_check *check, char *memory, int64_t *bytes, rungi_check_axis *axis,
                         const rungi_check_axis *other)
{
    int64_t lines = axis->padded;
    if (check->is_integer)
        return reserve(memory, bytes, lines, 1, &axis->flags) &&
               reserve(memory, bytes, axis->tile, sizeof *axis->flagged, &axis->flagged) &&
               reserve_integers(memory, bytes, check->k_padded, &axis->integer_sums) &&
               reserve_integers(memory, bytes, lines, &axis->integer_expected) &&
               reserve_integers(memory, bytes, lines, &axis->integer_actual);
    return reserve_doubles(memory, bytes, 1, lines, &axis->weights) &&
           reserve_doubles(memory, bytes, 1, lines, &axis->magnitudes) &&
           reserve_doubles(memory, bytes, 1, lines, &axis->sizes) &&
           reserve_doubles(memory, bytes, 1, lines, &axis->squares) &&
           reserve_doubles(memory, bytes, RUNGI_CHECK_SEGMENTS, lines, &axis->parts) &&
           reserve_doubles(memory, bytes, 1, axis->tiles, &axis->totals) &&
           reserve_doubles(memory, bytes, axis->tiles, check->k_padded, &axis->sums) &&
           reserve_doubles(memory, bytes, axis->tiles, check->k_padded, &axis->sum_sizes) &&
           reserve_doubles(memory, bytes, other->tiles, lines, &axis->expected) &&
           reserve_doubles(memory, bytes, other->tiles, lines, &axis->bounds) &&
           reserve_doubles(memory, bytes, other->tiles, lines, &axis->actual) &&
           reserve_doubles(memory, bytes, other->tiles, axis->tiles, &axis->shares) &&
           reserve(memory, bytes, axis->tile, sizeof *axis->flagged, &axis->flagged) &&
           reserve(memory, bytes, other->tiles * lines, 1, &axis->flags);
}

static bool reserve_all(rungi_product_check *check, char *memory, int64_t *bytes)
{
    *bytes = 0;
    return reserve_axis(check, memory, bytes, &check->rows, &check->cols) &&
           reserve_axis(check, memory, bytes, &check->cols, &check->rows);
}

static rung_status allocate(rungi_product_check *check)
{
    int64_t bytes;
    if (!reserve_all(check, NULL, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the sums of a checked product do not fit the address space");
    check->memory = rungi_allocate(check->context, bytes, ALIGNMENT);
    TRY(rungi_allocated(check->memory));
    memset(check->memory, 0, (size_t)bytes);
    (void)reserve_all(check, check->memory, &bytes);
    return RUNG_OK;
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

/* Returns whether panels and integer sums can read the operand as it is. */
static bool is_readable(const rungi_product_check *check, rung_type type)
{
    return check->is_integer || type == RUNG_F32 || type == RUNG_F64 || type == RUNG_BF16;
}

static rung_status convert(const rung_matrix *from, const rung_quantization *quantization, const rung_matrix *to)
{
    if (!rungi_type_is_wide(from->type))
        return rung_dequantize(*from, quantization, *to);
    for (int64_t i = 0; i < from->rows; i++)
        for (int64_t j = 0; j < from->cols; j++)
            ((float *)to->data)[i * to->row_stride + j * to->col_stride] = rungi_element_read(
                from, rungi_element_index(from, i, j));
    return RUNG_OK;
}

/* Allocates a matrix in F32 with the storage order of another. */
static rung_status allocate_like(const rungi_product_check *check, const rung_matrix *like, rung_matrix *dense)
{
    int64_t elements, bytes;
    bool by_columns = like->row_stride < like->col_stride;
    *dense = (rung_matrix){.type = RUNG_F32,
                           .rows = like->rows,
                           .cols = like->cols,
                           .row_stride = by_columns ? 1 : like->cols,
                           .col_stride = by_columns ? like->rows : 1};
    if (!rungi_checked_multiply(like->rows, like->cols, &elements) ||
        !rungi_checked_multiply(elements, sizeof(float), &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "a copy of an operand in F32 does not fit the address space");
    dense->data = rungi_allocate(check->context, bytes, ALIGNMENT);
    return rungi_allocated(dense->data);
}

/* Replaces an operand by a copy in F32, unless panels can read it. */
static rung_status make_readable(rungi_product_check *check, const rung_quantization *quantization,
                                 rung_matrix *operand, void **copy)
{
    rung_matrix dense;
    if (is_readable(check, operand->type))
        return RUNG_OK;
    TRY(allocate_like(check, operand, &dense));
    *copy = dense.data;
    TRY(convert(operand, quantization, &dense));
    *operand = dense;
    return RUNG_OK;
}

/* Computes the largest magnitude of each block of A in mode q8. */
static rung_status make_block_sizes(rungi_product_check *check)
{
    enum { Q8_BLOCK = 32 };
    check->a_sizes = check->a;
    if (!check->bound.by_blocks)
        return RUNG_OK;
    TRY(allocate_like(check, &check->a, &check->a_sizes));
    check->copies[2] = check->a_sizes.data;
    for (int64_t i = 0; i < check->a.rows; i++)
        for (int64_t first = 0; first < check->k; first += Q8_BLOCK) {
            float largest = 0;
            int64_t end = rungi_min(first + Q8_BLOCK, check->k);
            for (int64_t j = first; j < end; j++)
                largest = fmaxf(largest, fabsf(rungi_element_read(&check->a, rungi_element_index(&check->a, i, j))));
            for (int64_t j = first; j < end; j++)
                ((float *)check->a_sizes.data)[rungi_element_index(&check->a_sizes, i, j)] = largest;
        }
    return RUNG_OK;
}

/* ---- The error bound --------------------------------------------------------------------------------------------- */

static double gamma_of(double steps, double unit)
{
    double product = steps * unit;
    return product < 0.5 ? product / (1 - product) : (double)INFINITY;
}

/* Returns the bound of rung.h. The steps include the roundings of alpha and of the result. */
static rungi_error_bound error_bound(const rung_problem *problem, rung_type sum_type, bool has_engine)
{
    bool is_f64 = sum_type == RUNG_F64;
    bool is_short = problem->a.type == RUNG_F16 || problem->a.type == RUNG_BF16;
    bool is_tiny = rungi_type_is_f8(problem->a.type) || problem->a.type == RUNG_F4E2M1;
    rung_compute compute = rungi_problem_has_modes(problem) ? problem->compute : RUNG_COMPUTE_STRICT;
    bool rounds = compute != RUNG_COMPUTE_STRICT && !is_f64;
    double k = (double)problem->a.cols, steps = k + 1, lost = 0;
    if (rounds && (compute == RUNG_COMPUTE_BF16X3 || compute == RUNG_COMPUTE_TF32X3))
        steps *= compute == RUNG_COMPUTE_BF16X3 ? 6 : 3;
    if (has_engine && (is_short || rounds))
        steps *= 3;
    if (rounds)
        lost = compute == RUNG_COMPUTE_BF16X3   ? 0x1p-24
               : compute == RUNG_COMPUTE_TF32X3 ? 0x1p-21
               : compute == RUNG_COMPUTE_TF32   ? 0x1p-10 + 0x1p-22
                                                : 0x1p-7 + 0x1p-16;
    if (has_engine && is_tiny)
        lost += (k / 32 + 1) * 0x1p-13;
    steps += 3;
    return (rungi_error_bound){
        .relative = gamma_of(steps, is_f64 ? 0x1p-53 : 0x1p-24) * (rounds ? 1.02 : 1) + lost,
        .absolute = is_f64                        ? steps * 0x1p-1074
                    : problem->a.type == RUNG_F32 ? steps * 0x1p-149
                                                  : (2 * k + 2) * 0x1p-126,
        .vanished = rounds || problem->a.type == RUNG_BF16 ? 3 * 0x1p-126 : 0,
        .largest = is_f64 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127,
        .rounds_inputs = rounds,
        .by_blocks = rounds && compute == RUNG_COMPUTE_Q8,
    };
}

double rungi_product_check_limit(const rungi_product_check *check, const rungi_check_axis *axis,
                                 const rungi_check_axis *other, int64_t line, int64_t tile, bool is_worst_case)
{
    const rungi_error_bound *bound = &check->bound;
    double width = (double)rungi_min(other->tile, other->count - tile * other->tile);
    double share = is_worst_case ? 4 /* the sums have rounding errors, too */
                                 : axis->shares[tile * axis->tiles + line / axis->tile];
    double alpha = fabs(check->alpha);
    double sum = bound->relative * axis->bounds[tile * axis->padded + line];
    double vanished = bound->vanished * (axis->sizes[line] * other->totals[tile] + width);
    if (axis->sizes[line] == 0) /* all products are 0 */
        return 0;
    return alpha * share * sum + (alpha > 1 ? alpha : 1) * (bound->absolute * other->totals[tile] + vanished);
}

/* ---- Expected sums ----------------------------------------------------------------------------------------------- */

/* Sets the weights of `count` lines whose sizes are known. */
static void set_weights(rungi_check_axis *axis, int64_t first, int64_t count, bool is_row)
{
    for (int64_t i = first; i < first + count; i++) {
        double size = axis->sizes[i];
        bool is_checked = size <= 0x1p1020; /* false for NaN */
        double magnitude = !is_checked ? 0 : size == 0 ? 1 : 1 / (size > 0x1p-1000 ? size : 0x1p-1000);
        axis->magnitudes[i] = magnitude;
        axis->weights[i] = rungi_check_hash((uint64_t)i * 2 + is_row) & 1 ? -magnitude : magnitude;
        axis->totals[i / axis->tile] += magnitude;
    }
}

/* Sets columns of a panel that are not checked to 0. */
static void clear_columns(const rungi_check_axis *cols, int64_t first, int64_t count, rungi_panel *panel)
{
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < RUNGI_PANEL_ROWS && cols->weights[first + j] == 0; i++)
            panel->rows[i][j] = 0;
}

static void clear_rows(const rungi_check_axis *rows, int64_t first, int64_t count, int64_t cols, rungi_panel *panel)
{
    for (int64_t i = 0; i < count; i++)
        if (rows->weights[first + i] == 0)
            memset(panel->rows[i], 0, (size_t)cols * sizeof(double));
}

static bool has_unchecked(const rungi_check_axis *axis, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++)
        if (axis->weights[i] == 0)
            return true;
    return false;
}

/* Finds or loads rows of a matrix. Lines that are not checked become 0. `rows` and `cols` are those of the matrix; NULL: they are
 * no lines of the product. */
static rungi_panel_rows find_rows(const rung_matrix *view, int64_t row, int64_t height, int64_t col, int64_t width,
                                  const rungi_check_axis *rows, const rungi_check_axis *cols, rungi_panel *panel)
{
    if (!rows && !cols)
        return rungi_panel_find(view, row, height, col, width, panel);
    rungi_panel_load(view, row, height, col, width, panel);
    if (rows)
        clear_rows(rows, row, height, width, panel);
    if (cols)
        clear_columns(cols, col, width, panel);
    return rungi_panel_loaded(panel);
}

static const rungi_line_sums *sums_for(const rungi_product_check *check, rungi_panel_rows rows)
{
    return check->line_sums[rows.is_f32 != 0];
}

/* Returns whether weights may come from a sample of the elements. They do not change what is right, and an element outside the
 * sample that is not finite shows in the sums. But error bounds that use the magnitudes need all. */
static bool may_sample(const rungi_product_check *check)
{
    enum { FEW = 1024 };
    return check->bound.vanished == 0 && !check->bound.rounds_inputs && check->k >= FEW;
}

static bool has_weight(double size)
{
    return size > 0 && size <= 0x1p1020;
}

static void clear_tile_sums(const rungi_product_check *check, rungi_check_axis *axis, int64_t tile)
{
    memset(&axis->sums[tile * check->k_padded], 0, (size_t)check->k_padded * sizeof(double));
    memset(&axis->sum_sizes[tile * check->k_padded], 0, (size_t)check->k_padded * sizeof(double));
    axis->totals[tile] = 0;
}

static bool is_tile_finite(const rungi_product_check *check, const rungi_check_axis *axis, int64_t tile)
{
    for (int64_t i = 0; i < check->k; i++)
        if (!isfinite(axis->sum_sizes[tile * check->k_padded + i]))
            return false;
    return true;
}

static void clear_spread(rungi_check_axis *axis, int64_t first, int64_t count)
{
    memset(&axis->squares[first], 0, (size_t)count * sizeof(double));
    for (int segment = 0; segment < RUNGI_CHECK_SEGMENTS; segment++)
        memset(&axis->parts[segment * axis->padded + first], 0, (size_t)count * sizeof(double));
}

/* Weighs rows of A from column `col` on: sums up their columns, and measures the spread of each row. */
static void weigh_rows_of_a(const rungi_product_check *check, rungi_panel_rows found, int64_t tile, int64_t row,
                            int64_t col, int64_t width)
{
    const rungi_check_axis *rows = &check->rows;
    const int64_t size = found.is_f32 ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    for (int64_t at = col, end; at < col + width; at = end) {
        int64_t segment = at / check->segment, sum = tile * check->k_padded + at;
        end = rungi_min((segment + 1) * check->segment, col + width);
        sums_for(check, found)
            ->weigh_rows((const char *)found.first + (at - col) * size, found.stride, end - at, &rows->weights[row],
                         &rows->sums[sum], &rows->sum_sizes[sum], &rows->parts[segment * rows->padded + row],
                         &rows->squares[row]);
    }
}

/* Describes the sums that lines of one axis have in the tiles `tile` and `tile` + 1, if it exists: they are weights for the expected
 * sums of the other axis. Returns the number of tiles. */
static int expected_sums(const rungi_product_check *check, const rungi_check_axis *summed, int64_t tile, int64_t k,
                         const rungi_check_axis *expected, int64_t line, rungi_weighted_sums sums[2])
{
    int count = (int)rungi_min(2, summed->tiles - tile);
    for (int i = 0; i < count; i++) {
        int64_t from = (tile + i) * check->k_padded + k, to = (tile + i) * expected->padded + line;
        sums[i] = (rungi_weighted_sums){&summed->sums[from], &summed->sum_sizes[from], &expected->expected[to],
                                        &expected->bounds[to]};
    }
    return count;
}

/* Adds up the magnitudes of columns of B; of a sample of rows, if that is enough to choose weights. Returns whether the
 * sample shows that all columns can have weights. */
static bool measure_columns(rungi_product_check *check, int64_t col, int64_t width, bool is_sample)
{
    enum { STEP = 8 }; /* every eighth panel */
    rungi_check_axis *cols = &check->cols;
    rungi_panel panel;
    int64_t step = is_sample ? (int64_t)STEP * RUNGI_PANEL_ROWS : RUNGI_PANEL_ROWS;
    int64_t padded = rungi_round_up(width, RUNGI_PANEL_LANES);
    memset(&cols->sizes[col], 0, (size_t)padded * sizeof(double));
    for (int64_t row = 0; row < check->k; row += step) {
        int64_t height = rungi_min(RUNGI_PANEL_ROWS, check->k - row);
        rungi_panel_rows found = find_rows(&check->b, row, height, col, width, NULL, NULL, &panel);
        sums_for(check, found)->col_sizes(found.first, found.stride, padded, &cols->sizes[col]);
    }
    for (int64_t j = col; j < col + width && is_sample; j++) {
        cols->sizes[j] *= STEP;
        if (!has_weight(cols->sizes[j]))
            return false;
    }
    return true;
}

/* Sums up the columns of B in a tile. Returns whether the sums are finite. */
static bool sum_columns(rungi_product_check *check, int64_t tile, bool is_sample)
{
    rungi_check_axis *cols = &check->cols;
    rungi_panel panel;
    double *sums = &cols->sums[tile * check->k_padded], *sizes = &cols->sum_sizes[tile * check->k_padded];
    int64_t end = rungi_min((tile + 1) * cols->tile, cols->count);
    clear_tile_sums(check, cols, tile);
    for (int64_t col = tile * cols->tile; col < end; col += RUNGI_PANEL_COLS) {
        int64_t width = rungi_min(RUNGI_PANEL_COLS, end - col), padded = rungi_round_up(width, RUNGI_PANEL_LANES);
        if (!measure_columns(check, col, width, is_sample))
            return false;
        set_weights(cols, col, width, false);
        clear_spread(cols, col, padded);
        bool clears = has_unchecked(cols, col, width);
        for (int64_t row = 0; row < check->k; row += RUNGI_PANEL_ROWS) {
            rungi_panel_rows found = find_rows(&check->b, row, rungi_min(RUNGI_PANEL_ROWS, check->k - row), col, width,
                                               NULL, clears ? cols : NULL, &panel);
            sums_for(check, found)
                ->weigh_cols(found.first, found.stride, padded, &cols->weights[col], &sums[row], &sizes[row],
                             &cols->parts[row / check->segment * cols->padded + col], &cols->squares[col]);
        }
    }
    return is_tile_finite(check, cols, tile);
}

static void sum_columns_of_b(void *user, int64_t tile)
{
    rungi_product_check *check = user;
    if (!may_sample(check) || !sum_columns(check, tile, true))
        (void)sum_columns(check, tile, false);
}

/* Adds up the magnitudes of rows of A, as measure_columns() does for columns of B. */
static bool measure_rows(rungi_product_check *check, int64_t row, int64_t height, bool is_sample)
{
    enum { SHARE = 8 }; /* one of eight columns */
    rungi_check_axis *rows = &check->rows;
    rungi_panel panel;
    int64_t most = RUNGI_PANEL_COLS / (is_sample ? SHARE : 1);
    memset(&rows->sizes[row], 0, RUNGI_PANEL_ROWS * sizeof(double));
    for (int64_t col = 0; col < check->k; col += RUNGI_PANEL_COLS) {
        int64_t width = rungi_min(most, check->k - col);
        rungi_panel_rows found = find_rows(&check->a, row, height, col, width, NULL, NULL, &panel);
        sums_for(check, found)
            ->row_sizes(found.first, found.stride, rungi_round_up(width, RUNGI_PANEL_LANES), &rows->sizes[row]);
    }
    for (int64_t i = row; i < row + height && is_sample; i++) {
        rows->sizes[i] *= SHARE;
        if (!has_weight(rows->sizes[i]))
            return false;
    }
    return true;
}

/* Sums up the rows of A in a panel, and computes the expected sums of these rows of the product in all tiles. Returns false if
 * a sample is not enough. */
static bool sum_panel_of_a(rungi_product_check *check, int64_t tile, int64_t row, int64_t height, bool is_sample)
{
    rungi_check_axis *rows = &check->rows, *cols = &check->cols;
    rungi_panel panel;
    if (!measure_rows(check, row, height, is_sample))
        return false;
    set_weights(rows, row, height, true);
    clear_spread(rows, row, RUNGI_PANEL_ROWS);
    bool clears = has_unchecked(rows, row, height);
    for (int64_t col = 0; col < check->k; col += RUNGI_PANEL_COLS) {
        int64_t width = rungi_min(RUNGI_PANEL_COLS, check->k - col), padded = rungi_round_up(width, RUNGI_PANEL_LANES);
        rungi_panel_rows found = find_rows(&check->a, row, height, col, width, clears ? rows : NULL, NULL, &panel);
        weigh_rows_of_a(check, found, tile, row, col, padded);
        for (int64_t other = 0; other < cols->tiles; other += 2) {
            rungi_weighted_sums sums[2];
            int count = expected_sums(check, cols, other, col, rows, row, sums);
            sums_for(check, found)->dot(found.first, found.stride, padded, count, sums);
        }
    }
    return true;
}

/* Sums up the rows of A in a tile. Returns whether the sums are finite. */
static bool sum_rows(rungi_product_check *check, int64_t tile, bool is_sample)
{
    rungi_check_axis *rows = &check->rows;
    int64_t first = tile * rows->tile, end = rungi_min(first + rows->tile, rows->count);
    clear_tile_sums(check, rows, tile);
    for (int64_t other = 0; other < check->cols.tiles; other++) {
        memset(&rows->expected[other * rows->padded + first], 0, (size_t)(end - first) * sizeof(double));
        memset(&rows->bounds[other * rows->padded + first], 0, (size_t)(end - first) * sizeof(double));
    }
    for (int64_t row = first; row < end; row += RUNGI_PANEL_ROWS)
        if (!sum_panel_of_a(check, tile, row, rungi_min(RUNGI_PANEL_ROWS, end - row), is_sample))
            return false;
    return is_tile_finite(check, rows, tile);
}

static void sum_rows_of_a(void *user, int64_t tile)
{
    rungi_product_check *check = user;
    if (!may_sample(check) || !sum_rows(check, tile, true))
        (void)sum_rows(check, tile, false);
}

/* Computes the expected sums of the columns of the product, in a tile of columns and all tiles of rows. */
static void expect_columns(void *user, int64_t tile)
{
    rungi_product_check *check = user;
    const rungi_check_axis *rows = &check->rows;
    rungi_check_axis *cols = &check->cols;
    rungi_panel panel;
    int64_t end = rungi_min((tile + 1) * cols->tile, cols->count);
    for (int64_t col = tile * cols->tile; col < end; col += RUNGI_PANEL_COLS) {
        int64_t width = rungi_min(RUNGI_PANEL_COLS, end - col), padded = rungi_round_up(width, RUNGI_PANEL_LANES);
        bool clears = has_unchecked(cols, col, width);
        for (int64_t row = 0; row < check->k; row += RUNGI_PANEL_ROWS) {
            rungi_panel_rows found = find_rows(&check->b, row, rungi_min(RUNGI_PANEL_ROWS, check->k - row), col, width,
                                               NULL, clears ? cols : NULL, &panel);
            for (int64_t other = 0; other < rows->tiles; other += 2) {
                rungi_weighted_sums sums[2];
                int count = expected_sums(check, rows, other, row, cols, col, sums);
                sums_for(check, found)->combine(found.first, found.stride, padded, count, sums);
            }
        }
    }
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

/* Sums up the rows of a panel of the product in one tile, and adds the panel to the sums of columns. */
static void sum_panel_of_product(rungi_product_check *check, int64_t row_tile, int64_t col_tile, int64_t row,
                                 int64_t height)
{
    rungi_check_axis *rows = &check->rows, *cols = &check->cols;
    rungi_panel panel;
    bool clears = check->has_unchecked_lines;
    int64_t end = rungi_min((col_tile + 1) * cols->tile, cols->count);
    for (int64_t col = col_tile * cols->tile; col < end; col += RUNGI_PANEL_COLS) {
        int64_t width = rungi_min(RUNGI_PANEL_COLS, end - col), padded = rungi_round_up(width, RUNGI_PANEL_LANES);
        rungi_panel_rows found = find_rows(check->product, row, height, col, width, clears ? rows : NULL,
                                           clears ? cols : NULL, &panel);
        sums_for(check, found)
            ->sum_both(found.first, found.stride, padded, &cols->weights[col], &rows->weights[row],
                       &rows->actual[col_tile * rows->padded + row], &cols->actual[row_tile * cols->padded + col]);
    }
}

static void sum_product(void *user, int64_t tile)
{
    rungi_product_check *check = user;
    int64_t end = rungi_min((tile + 1) * check->rows.tile, check->rows.count);
    for (int64_t row = tile * check->rows.tile; row < end; row += RUNGI_PANEL_ROWS)
        for (int64_t col_tile = 0; col_tile < check->cols.tiles; col_tile++)
            sum_panel_of_product(check, tile, col_tile, row, rungi_min(RUNGI_PANEL_ROWS, end - row));
}

static double difference_of(const rungi_product_check *check, const rungi_check_axis *axis, int64_t at)
{
    return fabs(axis->actual[at] - check->alpha * axis->expected[at]);
}

/* Returns the median of up to SAMPLES differences in a tile, relative to the sum of the bounds; infinity if there are few
 * lines. It measures how large rounding errors are: errors of one row, or of one column, do not change it much. */
static double median_difference(const rungi_product_check *check, const rungi_check_axis *axis, int64_t first,
                                int64_t end, int64_t tile)
{
    enum { SAMPLES = 63, FEW = 8 };
    double samples[SAMPLES], unit = fabs(check->alpha) * check->bound.relative;
    int count = 0;
    int64_t step = rungi_ceil_divide(end - first, SAMPLES);
    for (int64_t line = first; line < end; line += step) {
        int64_t at = tile * axis->padded + line;
        double sample = difference_of(check, axis, at) / (unit * axis->bounds[at]);
        int place = count;
        if (!(sample <= DBL_MAX)) /* no bound, or not finite */
            continue;
        for (; place > 0 && samples[place - 1] > sample; place--)
            samples[place] = samples[place - 1];
        samples[place] = sample;
        count++;
    }
    return count < FEW ? (double)INFINITY : samples[count / 2];
}

/* Flags the lines of a tile whose sums differ by half the mean bound of an element, or by much more than most lines. */
static void compare_tile(const rungi_product_check *check, rungi_check_axis *axis, const rungi_check_axis *other,
                         int64_t own_tile, int64_t tile)
{
    int64_t first = own_tile * axis->tile, end = rungi_min(first + axis->tile, axis->count);
    double width = (double)rungi_min(other->tile, other->count - tile * other->tile);
    double median = median_difference(check, axis, first, end, tile);
    axis->shares[tile * axis->tiles + own_tile] = fmin(0.5 / width, 16 * median);
    for (int64_t line = first; line < end; line++) {
        int64_t at = tile * axis->padded + line;
        bool is_near = difference_of(check, axis, at) <=
                       rungi_product_check_limit(check, axis, other, line, tile, false);
        axis->flags[at] = !is_near && axis->weights[line] != 0 ? RUNGI_CHECK_DIFFERS : RUNGI_CHECK_NONE;
    }
}

static void compare(const rungi_product_check *check, rungi_check_axis *axis, const rungi_check_axis *other)
{
    for (int64_t tile = 0; tile < other->tiles; tile++)
        for (int64_t own_tile = 0; own_tile < axis->tiles; own_tile++)
            compare_tile(check, axis, other, own_tile, tile);
}

/* ---- A check ----------------------------------------------------------------------------------------------------- */

void rungi_product_check_run(const rungi_product_check *check, double elements, int64_t parts, rungi_part_work *work,
                             void *job)
{
    const double few = 1 << 18;
    if (check->runner.run && parts > 1 && elements > few) {
        check->runner.run(check->runner.user, parts, work, job);
        return;
    }
    for (int64_t part = 0; part < parts; part++)
        work(job, part);
}

/* Runs a part of the check that reads A, B or the product once. */
static void run_parts(const rungi_product_check *check, int64_t parts, rungi_part_work *work)
{
    double elements = (double)check->rows.count * (double)check->cols.count +
                      ((double)check->rows.count + (double)check->cols.count) * (double)check->k;
    rungi_product_check_run(check, elements, parts, work, (void *)(uintptr_t)check);
}

/* Chooses the number of lines per tile: `max_summed` or slightly fewer, but at least LEAST. */
static void divide(rungi_check_axis *axis, int64_t count, const rungi_product_check *check)
{
    enum { LEAST = 16 };
    axis->count = count;
    axis->padded = rungi_round_up(count, RUNGI_PANEL_LANES);
    axis->tile = rungi_max(check->max_summed / LEAST * LEAST, LEAST);
    if (check->is_integer)
        axis->tile = rungi_max(count, 1);
    axis->tiles = rungi_ceil_divide(count, axis->tile);
}

static rung_status prepare(rungi_product_check *check, const rung_problem *problem)
{
    TRY(make_readable(check, problem->a_quantization, &check->a, &check->copies[0]));
    TRY(make_readable(check, problem->b_quantization, &check->b, &check->copies[1]));
    TRY(make_block_sizes(check));
    check->segment = rungi_round_up(rungi_ceil_divide(check->k, RUNGI_CHECK_SEGMENTS), RUNGI_PANEL_ROWS);
    check->max_summed = check->k / (check->bound.rounds_inputs ? 16 : 2);
    divide(&check->rows, problem->a.rows, check);
    divide(&check->cols, problem->b.cols, check);
    TRY(allocate(check));
    if (check->is_integer) {
        rungi_integer_check_prepare(check);
        return RUNG_OK;
    }
    run_parts(check, check->cols.tiles, sum_columns_of_b);
    run_parts(check, check->rows.tiles, sum_rows_of_a);
    run_parts(check, check->cols.tiles, expect_columns);
    check->has_unchecked_lines = has_unchecked(&check->rows, 0, check->rows.count) ||
                                 has_unchecked(&check->cols, 0, check->cols.count);
    return RUNG_OK;
}

rung_status rungi_product_check_begin(rung_context *context, const rungi_part_runner *runner,
                                      const rung_problem *problem, rung_type sum_type, bool has_engine,
                                      rungi_product_check **out)
{
    *out = NULL;
    rungi_product_check *check = rungi_allocate_zeroed(context, sizeof *check);
    TRY(rungi_allocated(check));
    *check = (rungi_product_check){.context = context,
                                   .line_sums = rungi_line_sums_for(rungi_x86_features_detect()),
                                   .bound = error_bound(problem, sum_type, has_engine),
                                   .sum_type = sum_type,
                                   .is_integer = rungi_type_is_integer(sum_type),
                                   .alpha = problem->alpha,
                                   .a = problem->a,
                                   .b = problem->b,
                                   .k = problem->a.cols,
                                   .k_padded = rungi_round_up(problem->a.cols, RUNGI_PANEL_LANES)};
    if (runner)
        check->runner = *runner;
    rung_status status = prepare(check, problem);
    if (status != RUNG_OK) {
        rungi_product_check_cancel(check);
        return status;
    }
    *out = check;
    return RUNG_OK;
}

rung_status rungi_product_check_end(rungi_product_check *check, const rung_matrix *product, int64_t *corrected)
{
    check->product = product;
    RUNGI_ASSERT(product->type == check->sum_type);
    if (check->is_integer)
        rungi_integer_check_compare(check);
    else {
        run_parts(check, check->rows.tiles, sum_product);
        compare(check, &check->rows, &check->cols);
        compare(check, &check->cols, &check->rows);
        rungi_product_flag_insensitive(check);
    }
    rung_status status = rungi_product_repair(check, corrected);
    rungi_product_check_cancel(check);
    return status;
}

void rungi_product_check_cancel(rungi_product_check *check)
{
    if (!check)
        return;
    rung_context *context = check->context;
    rungi_release(context, check->memory);
    for (int i = 0; i < 3; i++)
        rungi_release(context, check->copies[i]);
    rungi_release(context, check);
}
