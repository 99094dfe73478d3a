/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - aligned columns on a terminal: gather the rows, then print them. */
#ifndef LAB_TABLE_H
#define LAB_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "colour.h"

enum { LAB_TABLE_COLUMNS = 13, LAB_TABLE_ROWS = 256, LAB_TABLE_CELL = 96 };

typedef struct lab_table {
    int columns, rows;
    int left_out; /* rows that did not fit */
    char cells[LAB_TABLE_ROWS][LAB_TABLE_COLUMNS][LAB_TABLE_CELL];
    lab_colour colours[LAB_TABLE_ROWS];
} lab_table;

/* Adds one row, one text per column. A text that is too long ends in "..."; rows past the last are counted, and
 * lab_table_print says how many they are. `align` has one letter per column, l or r. */
void lab_table_add(lab_table *table, int columns, const char *const *cells);
void lab_table_print(const lab_table *table, const char *align, FILE *out);

/* Nanoseconds as milliseconds, with three digits or more: 2680 as 0.00268. */
void lab_write_ms(int64_t nanoseconds, char *text, size_t capacity);

/* 17179869184 as 16 GiB. */
void lab_write_bytes(double bytes, char *text, size_t capacity);

/* The colour of the row that was added last. */
void lab_table_colour(lab_table *table, lab_colour colour);

#endif /* LAB_TABLE_H */
