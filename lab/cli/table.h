/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - tables with aligned columns, and formats of numbers in them. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "cli/terminal.h"
#include "common/text.h"

enum { LAB_TABLE_COLUMNS_MAX = 13, LAB_TABLE_ROWS_MAX = 256, LAB_TABLE_CELL_BYTES = 96 };

typedef struct lab_table {
    int columns, rows; /* `columns`: of the last row */
    int left_out;      /* rows that did not fit */
    char cells[LAB_TABLE_ROWS_MAX][LAB_TABLE_COLUMNS_MAX][LAB_TABLE_CELL_BYTES];
    lab_terminal_colour colours[LAB_TABLE_ROWS_MAX];
} lab_table;

/* Adds a row with one text per column. A text that is too long ends in "...". Rows beyond LAB_TABLE_ROWS_MAX are
 * counted, and lab_table_print() prints their number. `align` has one letter per column, l or r. */
void lab_table_add(lab_table *table, int columns, const char *const *cells);
void lab_table_print(const lab_table *table, const char *align, FILE *out);

/* Adds a row cell by cell: lab_table_begin_row(), then one call per column. lab_table_cell() formats like printf,
 * lab_table_cell_ms() like lab_format_ms(). */
void lab_table_begin_row(lab_table *table);
void lab_table_cell(lab_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lab_table_cell_ms(lab_table *table, int64_t nanoseconds);

/* Sets the color of the last row. */
void lab_table_colour(lab_table *table, lab_terminal_colour colour);
