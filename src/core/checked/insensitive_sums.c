/* SPDX-License-Identifier: Apache-2.0 */
/* insensitive_sums.c - finds the lines of a product whose sums may hide errors. See product_check.h.
 *
 * The limit of a line follows the mean bound of its elements. An element with a bound far below the mean can be wrong without
 * a trace in the sum. The bound of an element is proportional to the sum of |a| |b| over k. Such sums are alike if k is large,
 * and differ if k is small or if few elements of A and B are much larger than the others. With weights, the elements of each
 * row of A and column of B have the mean 1/k. If their variation coefficients are v and w, and if large elements of the one
 * meet elements of the other at random, the sums have a variation coefficient of v w / sqrt(k - 1). Lines for which it is too
 * large are computed again. So are rows whose large elements do not meet those of a column, as in products of triangular
 * matrices: the magnitudes in segments of k show it. And so are all rows of a tile in which rounding errors can cancel an error
 * of one element. */
#include <math.h>

#include "core/checked/product_check_types.h"
#include "core/matrix.h"

/* ---- Uneven lines ------------------------------------------------------------------------------------------------ */

/* An element with half the mean bound is this number of standard deviations away from the mean. */
static const double deviations = 6;

/* Returns the square of the variation coefficient of a weighted line of A or B; infinity if it is unknown. */
static double variation_of(const rungi_product_check *check, const rungi_check_axis *axis, int64_t line)
{
    double size = axis->sizes[line] * axis->magnitudes[line];
    if (check->k == 1 || axis->squares[line] == 0)
        return 0;
    double variation = (double)check->k * axis->squares[line] / (size * size) - 1;
    return variation >= 0 ? variation : variation < 0 ? 0 : (double)INFINITY;
}

/* Returns whether the bounds of the elements vary too much where lines with these variations meet. */
static bool is_uneven(const rungi_product_check *check, double variation, double other_variation)
{
    double most = (double)(check->k - 1) / (4 * deviations * deviations);
    return variation > 0 && other_variation > 0 && !(variation * other_variation <= most);
}

/* Returns the median variation of up to SAMPLES lines. A few lines do not change it much. */
static double median_variation(const rungi_product_check *check, const rungi_check_axis *axis, int64_t first,
                               int64_t end)
{
    enum { SAMPLES = 63 };
    double samples[SAMPLES];
    int count = 0;
    int64_t step = rungi_ceil_divide(end - first, SAMPLES);
    for (int64_t line = first; line < end; line += step) {
        double sample = variation_of(check, axis, line);
        int place = count++;
        for (; place > 0 && samples[place - 1] > sample; place--)
            samples[place] = samples[place - 1];
        samples[place] = sample;
    }
    return samples[count / 2];
}

/* ---- Lines that do not meet -------------------------------------------------------------------------------------- */

/* The least bound of an element, relative to the mean, with the mean magnitudes of each segment. */
static const double least_share = 0.7;

static int64_t segment_length(const rungi_product_check *check, int segment)
{
    return rungi_max(0, rungi_min(check->segment, check->k - segment * check->segment));
}

/* Divides the parts of each line by their sum. A line of zeros counts as one of equal elements. */
static void divide_parts(const rungi_product_check *check, rungi_check_axis *axis)
{
    for (int64_t line = 0; line < axis->count; line++) {
        double total = 0;
        for (int i = 0; i < RUNGI_CHECK_SEGMENTS; i++)
            total += axis->parts[i * axis->padded + line];
        for (int i = 0; i < RUNGI_CHECK_SEGMENTS; i++) {
            double *part = &axis->parts[i * axis->padded + line];
            *part = total == 0 ? (double)segment_length(check, i) / (double)check->k : *part / total;
        }
    }
}

/* Returns whether no segment of a line has much less than its share of the magnitudes. Such a line meets all others. */
static bool is_spread(const rungi_product_check *check, const rungi_check_axis *axis, int64_t line)
{
    for (int i = 0; i < RUNGI_CHECK_SEGMENTS; i++)
        if (axis->parts[i * axis->padded + line] * (double)check->k < least_share * (double)segment_length(check, i))
            return false;
    return true;
}

/* Returns whether a row meets a column: whether large elements of the one are in the same segments as large elements of the
 * other. */
static bool do_meet(const rungi_product_check *check, int64_t row, int64_t col)
{
    const rungi_check_axis *rows = &check->rows, *cols = &check->cols;
    double sum = 0;
    for (int i = 0; i < RUNGI_CHECK_SEGMENTS; i++)
        sum += rows->parts[i * rows->padded + row] * cols->parts[i * cols->padded + col] /
               (double)rungi_max(1, segment_length(check, i));
    return !(sum * (double)check->k < least_share);
}

/* Flags the rows of a tile that do not meet all columns. */
static void flag_apart(rungi_product_check *check, int64_t row, int64_t row_end, int64_t col, int64_t col_end,
                       int64_t col_tile)
{
    rungi_check_axis *rows = &check->rows, *cols = &check->cols;
    int64_t first = col;
    while (first < col_end && is_spread(check, cols, first))
        first++;
    for (int64_t i = row; i < row_end && first < col_end; i++) {
        if (rows->weights[i] == 0 || is_spread(check, rows, i))
            continue;
        for (int64_t j = first; j < col_end; j++)
            if (!do_meet(check, i, j)) {
                rows->flags[col_tile * rows->padded + i] = RUNGI_CHECK_INSENSITIVE;
                break;
            }
    }
}

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */

static void flag_all(rungi_check_axis *axis, int64_t first, int64_t end, int64_t other_tile)
{
    for (int64_t line = first; line < end; line++)
        if (axis->weights[line] != 0)
            axis->flags[other_tile * axis->padded + line] = RUNGI_CHECK_INSENSITIVE;
}

/* Flags the lines of a tile that are uneven where they meet a line with `other_variation`. Returns the largest variation of the
 * other lines. */
static double flag_uneven(const rungi_product_check *check, rungi_check_axis *axis, int64_t first, int64_t end,
                          int64_t other_tile, double other_variation)
{
    double largest = 0;
    for (int64_t line = first; line < end; line++) {
        double variation = variation_of(check, axis, line);
        if (axis->weights[line] == 0)
            continue;
        if (is_uneven(check, variation, other_variation))
            axis->flags[other_tile * axis->padded + line] = RUNGI_CHECK_INSENSITIVE;
        else
            largest = fmax(largest, variation);
    }
    return largest;
}

/* Flags all rows of a tile if the sums of its rows and of its columns have too many elements. Else flags the rows that do not
 * meet all columns, the rows that are uneven where they meet most columns, and then the columns that are uneven where they
 * meet one of the other rows. */
static void flag_tile(rungi_product_check *check, int64_t row_tile, int64_t col_tile)
{
    rungi_check_axis *rows = &check->rows, *cols = &check->cols;
    int64_t row = row_tile * rows->tile, row_end = rungi_min(row + rows->tile, rows->count);
    int64_t col = col_tile * cols->tile, col_end = rungi_min(col + cols->tile, cols->count);
    if (row_end - row > check->max_summed && col_end - col > check->max_summed) {
        flag_all(rows, row, row_end, col_tile);
        return;
    }
    flag_apart(check, row, row_end, col, col_end, col_tile);
    double median = median_variation(check, cols, col, col_end);
    double largest = flag_uneven(check, rows, row, row_end, col_tile, median);
    (void)flag_uneven(check, cols, col, col_end, row_tile, largest);
}

void rungi_product_flag_insensitive(rungi_product_check *check)
{
    divide_parts(check, &check->rows);
    divide_parts(check, &check->cols);
    for (int64_t row_tile = 0; row_tile < check->rows.tiles; row_tile++)
        for (int64_t col_tile = 0; col_tile < check->cols.tiles; col_tile++)
            flag_tile(check, row_tile, col_tile);
}
