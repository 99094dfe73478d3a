/* SPDX-License-Identifier: Apache-2.0 */
/* product_repair.c - computes the flagged rows and columns of a product again and corrects wrong elements. See
 * product_check.h. Columns are rows of the transposed product. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/float16.h"
#include "base/try.h"
#include "core/checked/product_check_types.h"
#include "core/matrix.h"
#include "core/quantization.h"

/* The lines (rows or columns) of a product in a tile. */
typedef struct tile_lines {
    const rungi_product_check *check;
    rungi_check_axis *axis, *other; /* of the lines, and of their elements */
    int64_t tile, other_tile;
    bool is_transposed;
    rung_matrix x, y, product;    /* lines x k, k x elements, lines x elements */
    rung_matrix x_sizes, y_sizes; /* elements whose magnitudes count for the error bound: x and y, except in mode q8 */
} tile_lines_t;

enum { GROUP = 4 }; /* lines that are computed together */

/* The elements of a group of lines in a panel: sums of products and of magnitudes. */
typedef struct element_sums {
    _Alignas(64) double sums[GROUP][RUNGI_PANEL_COLS];
    double sizes[GROUP][RUNGI_PANEL_COLS];
} element_sums_t;

/* The flagged lines of a tile. A part of the work is a group of them. */
typedef struct flagged_lines {
    const tile_lines_t *lines;
    int64_t *flagged;
    int64_t count;
    atomic_llong corrected;
} flagged_lines_t;

static int64_t first_of(const rungi_check_axis *axis, int64_t tile)
{
    return tile * axis->tile;
}

static int64_t end_of(const rungi_check_axis *axis, int64_t tile)
{
    return rungi_min((tile + 1) * axis->tile, axis->count);
}

static unsigned char *flag_of(const tile_lines_t *lines, int64_t line)
{
    return &lines->axis->flags[lines->other_tile * lines->axis->padded + line];
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */

static char *address_of(const rung_matrix *view, int64_t row, int64_t col)
{
    return (char *)view->data + rungi_element_index(view, row, col) * rungi_type_size(view->type);
}

static double read_value(const rung_matrix *view, int64_t row, int64_t col)
{
    const char *address = address_of(view, row, col);
    if (view->type == RUNG_F64)
        return *(const double *)address;
    if (view->type == RUNG_F32)
        return (double)*(const float *)address;
    return (double)rungi_bf16_to_f32(*(const uint16_t *)(const void *)address);
}

static uint32_t read_integer(const rung_matrix *view, int64_t row, int64_t col)
{
    const char *address = address_of(view, row, col);
    return view->type == RUNG_I8 ? (uint32_t)(int32_t) * (const int8_t *)address : *(const uint32_t *)address;
}

static void write_value(const rung_matrix *view, int64_t row, int64_t col, double value)
{
    char *address = address_of(view, row, col);
    if (view->type == RUNG_F64)
        *(double *)address = value;
    else
        *(float *)address = (float)value;
}

/* Computes an element of the product with twice the precision. Returns how much `got` differs from it. */
static double exact_error(const tile_lines_t *lines, int64_t line, int64_t element, double got, double *exact)
{
    double alpha = lines->check->alpha, sum = 0, lost = 0;
    for (int64_t i = 0; i < lines->check->k; i++) {
        double x = read_value(&lines->x, line, i), y = read_value(&lines->y, i, element);
        double product = x * y, next = sum + product, back = next - sum;
        lost += (sum - (next - back)) + (product - back) + fma(x, y, -product);
        sum = next;
    }
    if (!isfinite(sum))
        lost = 0;
    *exact = fma(alpha, sum, alpha * lost);
    return fma(-alpha, sum, got) - alpha * lost;
}

enum { PRODUCTS = 1, MAGNITUDES = 2 };

/* Adds the products of a group of lines of x and a panel of y, whose first row is row k of y, or their magnitudes, or both. */
static void add_panel(const tile_lines_t *lines, const rung_matrix *x, const rung_matrix *y, int what,
                      const int64_t *group, int count, int64_t k, int64_t first, int64_t width, element_sums_t *to)
{
    int64_t depth = rungi_min(RUNGI_PANEL_ROWS, lines->check->k - k);
    rungi_panel panel;
    rungi_panel_rows rows = rungi_panel_find(y, k, depth, first, width, &panel);
    for (int line = 0; line < count; line++) {
        double values[RUNGI_PANEL_ROWS] = {0}, magnitudes[RUNGI_PANEL_ROWS] = {0};
        for (int64_t i = 0; i < depth; i++) {
            double value = read_value(x, group[line], k + i);
            values[i] = what & PRODUCTS ? value : 0;
            magnitudes[i] = what & MAGNITUDES ? fabs(value) : 0;
        }
        const rungi_weighted_sums line_sums = {values, magnitudes, to->sums[line], to->sizes[line]};
        lines->check->line_sums[rows.is_f32 != 0]->combine(rows.first, rows.stride,
                                                           rungi_round_up(width, RUNGI_PANEL_LANES), 1, &line_sums);
    }
}

/* ---- Lines of floating-point numbers ----------------------------------------------------------------------------- */

/* Returns whether a correct kernel may have stored `got`, which differs from the exact product by `difference`, give or take the
 * uncertainty. */
static bool is_right(const tile_lines_t *lines, int64_t line, int64_t element, double got, double difference,
                     double size, double uncertainty)
{
    const rungi_product_check *check = lines->check;
    const rungi_error_bound *bound = &check->bound;
    double alpha = fabs(check->alpha), inputs = lines->axis->sizes[line] + lines->other->sizes[element];
    double error = alpha * (bound->relative * size) +
                   (alpha > 1 ? alpha : 1) * (bound->absolute + bound->vanished * inputs);
    bool may_vanish = check->sum_type == RUNG_F64; /* a product that is not 0 may be 0 in F64 */
    if (lines->axis->sizes[line] == 0 || lines->other->sizes[element] == 0 || (size == 0 && !may_vanish))
        error = 0;
    if (fabs(difference) <= error - uncertainty)
        return true;
    bool may_overflow = !(alpha * size + error < bound->largest * 0.999) || !(size < bound->largest * 0.999) ||
                        (bound->rounds_inputs && inputs >= 0x1p126);
    return may_overflow && !isfinite(got);
}

/* Returns by how much a sum of products of F64 may differ from the exact one, relative to the sum of magnitudes: panels have
 * eight products, whose sums are added. */
static double uncertainty_of(const rungi_product_check *check)
{
    double roundings = RUNGI_PANEL_ROWS + (double)check->k / RUNGI_PANEL_ROWS + 4;
    return check->sum_type == RUNG_F64 ? roundings * 0x1.01p-53 : 0;
}

/* Compares elements with their sums, and corrects them. If a sum in double cannot tell whether an element is right, an exact one
 * does. */
static void correct_elements(const tile_lines_t *lines, int64_t line, int64_t first, int64_t count, const double *sums,
                             const double *sizes, int64_t *corrected)
{
    const rungi_product_check *check = lines->check;
    double alpha = check->alpha, share = uncertainty_of(check) * fabs(alpha);
    for (int64_t j = 0; j < count; j++) {
        double exact = alpha * sums[j], got = read_value(&lines->product, line, first + j);
        if (lines->other->weights[first + j] == 0 ||
            is_right(lines, line, first + j, got, got - exact, sizes[j], share * sizes[j]))
            continue;
        if (check->sum_type == RUNG_F64) {
            double difference = exact_error(lines, line, first + j, got, &exact);
            if (is_right(lines, line, first + j, got, difference, sizes[j], 0))
                continue;
        }
        write_value(&lines->product, line, first + j, exact);
        ++*corrected;
    }
}

static void verify_block(const tile_lines_t *lines, const int64_t *group, int count, int64_t first, int64_t width,
                         int64_t *corrected)
{
    const bool by_blocks = lines->check->bound.by_blocks;
    element_sums_t sums;
    memset(&sums, 0, sizeof sums);
    for (int64_t k = 0; k < lines->check->k; k += RUNGI_PANEL_ROWS) {
        add_panel(lines, &lines->x, &lines->y, by_blocks ? PRODUCTS : PRODUCTS | MAGNITUDES, group, count, k, first,
                  width, &sums);
        if (by_blocks) /* other magnitudes count */
            add_panel(lines, &lines->x_sizes, &lines->y_sizes, MAGNITUDES, group, count, k, first, width, &sums);
    }
    for (int i = 0; i < count; i++)
        correct_elements(lines, group[i], first, width, sums.sums[i], sums.sizes[i], corrected);
}

static void verify_group(const tile_lines_t *lines, const int64_t *group, int count, int64_t *corrected)
{
    int64_t end = end_of(lines->other, lines->other_tile);
    for (int64_t first = first_of(lines->other, lines->other_tile); first < end; first += RUNGI_PANEL_COLS)
        verify_block(lines, group, count, first, rungi_min(RUNGI_PANEL_COLS, end - first), corrected);
}

/* Returns the difference between the sum of a line and the expected one; infinity or NaN if an element is not finite. */
static double difference_of(const tile_lines_t *lines, int64_t line)
{
    double sum = 0;
    int64_t end = end_of(lines->other, lines->other_tile);
    for (int64_t i = first_of(lines->other, lines->other_tile); i < end; i++)
        if (lines->other->weights[i] != 0)
            sum += lines->other->weights[i] * read_value(&lines->product, line, i);
    return fabs(sum - lines->check->alpha * lines->axis->expected[lines->other_tile * lines->axis->padded + line]);
}

/* ---- Lines of integers ------------------------------------------------------------------------------------------- */

static void verify_integers(const tile_lines_t *lines, int64_t line, int64_t *corrected)
{
    for (int64_t j = first_of(lines->other, lines->other_tile); j < end_of(lines->other, lines->other_tile); j++) {
        uint32_t sum = 0;
        for (int64_t i = 0; i < lines->check->k; i++)
            sum += read_integer(&lines->x, line, i) * read_integer(&lines->y, i, j);
        sum *= (uint32_t)(int64_t)lines->check->alpha;
        if (read_integer(&lines->product, line, j) == sum)
            continue;
        memcpy(address_of(&lines->product, line, j), &sum, sizeof sum);
        ++*corrected;
    }
}

static bool is_integer_sum_equal(const tile_lines_t *lines, int64_t line)
{
    uint32_t sum = 0;
    for (int64_t i = 0; i < lines->other->count; i++)
        sum += rungi_check_integer_weight(i, lines->is_transposed) * read_integer(&lines->product, line, i);
    return sum == (uint32_t)(int64_t)lines->check->alpha * lines->axis->integer_expected[line];
}

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */

/* Returns whether the sum of a line is as expected; after the verification of all of its elements, whether it can be. */
static bool is_sum_near(const tile_lines_t *lines, int64_t line, bool is_verified)
{
    const rungi_product_check *check = lines->check;
    if (check->is_integer)
        return is_integer_sum_equal(lines, line);
    double difference = difference_of(lines, line);
    return (is_verified && (!isfinite(difference) || check->bound.by_blocks)) ||
           difference <=
               rungi_product_check_limit(check, lines->axis, lines->other, line, lines->other_tile, is_verified);
}

static void verify_part(void *job, int64_t part)
{
    flagged_lines_t *work = job;
    const int64_t *group = work->flagged + part * GROUP;
    int count = (int)rungi_min(GROUP, work->count - part * GROUP);
    int64_t corrected = 0;
    if (!work->lines->check->is_integer)
        verify_group(work->lines, group, count, &corrected);
    for (int i = 0; i < count && work->lines->check->is_integer; i++)
        verify_integers(work->lines, group[i], &corrected);
    atomic_fetch_add(&work->corrected, corrected);
}

/* Computes all flagged lines again. Fails if a line still has a wrong sum: then A or B has changed. */
static rung_status verify_flagged(const tile_lines_t *lines, int64_t *corrected)
{
    const rungi_product_check *check = lines->check;
    flagged_lines_t work = {.lines = lines, .flagged = lines->axis->flagged};
    int64_t end = end_of(lines->axis, lines->tile);
    for (int64_t line = first_of(lines->axis, lines->tile); line < end; line++)
        if (*flag_of(lines, line))
            work.flagged[work.count++] = line;
    double elements = (double)work.count * (double)check->k *
                      (double)(end_of(lines->other, lines->other_tile) - first_of(lines->other, lines->other_tile));
    rungi_product_check_run(check, elements, rungi_ceil_divide(work.count, GROUP), verify_part, &work);
    *corrected += atomic_load(&work.corrected);
    for (int64_t i = 0; i < work.count; i++)
        if (!is_sum_near(lines, work.flagged[i], true))
            return rungi_fail(
                RUNG_STATUS_CORRUPTED,
                "the sum of %s %lld of the product is wrong although its elements were computed again; A or B changed "
                "during the call, or memory is faulty: compute the matrices again, and test the memory",
                lines->is_transposed ? "column" : "row", (long long)work.flagged[i]);
    return RUNG_OK;
}

/* Clears the flags of lines whose sums are as expected now. */
static void clear_flags(const tile_lines_t *lines)
{
    for (int64_t line = first_of(lines->axis, lines->tile); line < end_of(lines->axis, lines->tile); line++)
        if (*flag_of(lines, line) == RUNGI_CHECK_DIFFERS && is_sum_near(lines, line, false))
            *flag_of(lines, line) = RUNGI_CHECK_NONE;
}

static int64_t count_flags(const tile_lines_t *lines)
{
    int64_t count = 0;
    for (int64_t line = first_of(lines->axis, lines->tile); line < end_of(lines->axis, lines->tile); line++)
        count += *flag_of(lines, line) != RUNGI_CHECK_NONE;
    return count;
}

static bool has_all(const tile_lines_t *lines, int64_t count)
{
    return count == end_of(lines->axis, lines->tile) - first_of(lines->axis, lines->tile);
}

/* Corrects a tile. A wrong element of A spoils a row and flags all columns, one of B the reverse: the smaller set is computed
 * first, and often leaves nothing of the larger. If it has all lines, it has all elements. */
static rung_status repair_tile(rungi_product_check *check, int64_t row_tile, int64_t col_tile, int64_t *corrected)
{
    tile_lines_t rows = {check,    &check->rows, &check->cols,    row_tile,       col_tile, false,
                         check->a, check->b,     *check->product, check->a_sizes, check->b};
    tile_lines_t cols = {check,
                         &check->cols,
                         &check->rows,
                         col_tile,
                         row_tile,
                         true,
                         rung_matrix_transpose(check->b),
                         rung_matrix_transpose(check->a),
                         rung_matrix_transpose(*check->product),
                         rung_matrix_transpose(check->b),
                         rung_matrix_transpose(check->a_sizes)};
    int64_t row_count = count_flags(&rows), col_count = count_flags(&cols);
    const tile_lines_t *first = row_count <= col_count ? &rows : &cols, *second = first == &rows ? &cols : &rows;
    if (row_count + col_count == 0)
        return RUNG_OK;
    if (row_count == 0 || col_count == 0) {
        first = row_count > 0 ? &rows : &cols;
        return verify_flagged(first, corrected);
    }
    TRY(verify_flagged(first, corrected));
    clear_flags(second);
    return has_all(first, rungi_min(row_count, col_count)) ? RUNG_OK : verify_flagged(second, corrected);
}

rung_status rungi_product_repair(rungi_product_check *check, int64_t *corrected)
{
    for (int64_t row_tile = 0; row_tile < check->rows.tiles; row_tile++)
        for (int64_t col_tile = 0; col_tile < check->cols.tiles; col_tile++)
            TRY(repair_tile(check, row_tile, col_tile, corrected));
    return RUNG_OK;
}
