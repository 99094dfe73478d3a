/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - tables with aligned columns, and formats of numbers in them. */
#ifndef LAB_TABLE_H
#define LAB_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "cli/colour.h"
#include "common/number_format.h"

enum { LAB_TABLE_COLUMNS_MAX = 13, LAB_TABLE_ROWS_MAX = 256, LAB_TABLE_CELL_BYTES = 96 };

typedef struct lab_table {
    int columns, rows;
    int left_out; /* rows that did not fit */
    char cells[LAB_TABLE_ROWS_MAX][LAB_TABLE_COLUMNS_MAX][LAB_TABLE_CELL_BYTES];
    lab_terminal_colour colours[LAB_TABLE_ROWS_MAX];
} lab_table;

/* Adds a row with one text per column. A text that is too long ends in "...". Rows beyond LAB_TABLE_ROWS_MAX are
 * counted, and lab_table_print() prints their number. `align` has one letter per column, l or r. */
void lab_table_add(lab_table *table, int columns, const char *const *cells);
void lab_table_print(const lab_table *table, const char *align, FILE *out);

/* Sets the color of the last row. */
void lab_table_colour(lab_table *table, lab_terminal_colour colour);

#endif /* LAB_TABLE_H */
