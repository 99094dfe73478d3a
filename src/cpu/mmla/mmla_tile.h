/* SPDX-License-Identifier: Apache-2.0 */
/* mmla_tile.h - the inner loop of 12_matrix on AArch64, written once for both types.
 *
 * The including file defines: TILE_FUNCTION; SUM, a register of 2 x 2 sums, and INPUT, a register of packed elements of two
 * rows or columns; and MULTIPLY(sum, a, b), which adds the products.
 *
 * One group of k takes 24 multiplications and 10 loads. The sums are separate variables, because not every compiler keeps an
 * array in registers. */
#include "cpu/mmla/mmla.h"

/* clang-format off */
#define COLUMN_PAIRS(X, row) X(row, 0) X(row, 1) X(row, 2) X(row, 3) X(row, 4) X(row, 5)
#define ALL_SUMS(X) COLUMN_PAIRS(X, 0) COLUMN_PAIRS(X, 1) COLUMN_PAIRS(X, 2) COLUMN_PAIRS(X, 3)
/* clang-format on */
#define DECLARE_SUM(row, column) SUM s##row##column = {0};
#define LOAD_SUM(row, column) s##row##column = sums[6 * row + column];
#define STORE_SUM(row, column) sums[6 * row + column] = s##row##column;
#define MULTIPLY_COLUMN_PAIR(column)           \
    {                                          \
        INPUT two_columns = b[column];         \
        MULTIPLY(s0##column, a0, two_columns); \
        MULTIPLY(s1##column, a1, two_columns); \
        MULTIPLY(s2##column, a2, two_columns); \
        MULTIPLY(s3##column, a3, two_columns); \
    }

void TILE_FUNCTION(int64_t groups, const char *rows, const char *columns, bool is_first, void *tile)
{
    SUM *sums = tile;
    const INPUT *a = (const void *)rows, *b = (const void *)columns;
    ALL_SUMS(DECLARE_SUM)
    if (!is_first) {
        ALL_SUMS(LOAD_SUM)
    }
    for (; groups > 0; groups--, a += 4, b += 6) {
        INPUT a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
        MULTIPLY_COLUMN_PAIR(0)
        MULTIPLY_COLUMN_PAIR(1)
        MULTIPLY_COLUMN_PAIR(2)
        MULTIPLY_COLUMN_PAIR(3)
        MULTIPLY_COLUMN_PAIR(4)
        MULTIPLY_COLUMN_PAIR(5)
    }
    ALL_SUMS(STORE_SUM)
}
