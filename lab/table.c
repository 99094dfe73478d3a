/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - see table.h. */
#include "table.h"

#include <string.h>

void lab_table_add(lab_table *table, int columns, const char *const *cells)
{
    if (table->rows == LAB_TABLE_ROWS)
        return;
    table->columns = columns;
    for (int i = 0; i < columns; i++)
        snprintf(table->cells[table->rows][i], LAB_TABLE_CELL, "%s", cells[i]);
    table->rows++;
}

void lab_table_print(const lab_table *table, const char *align, FILE *out)
{
    int widths[LAB_TABLE_COLUMNS] = {0};
    for (int row = 0; row < table->rows; row++)
        for (int i = 0; i < table->columns; i++) {
            int width = (int)strlen(table->cells[row][i]);
            if (width > widths[i])
                widths[i] = width;
        }
    for (int row = 0; row < table->rows; row++) {
        for (int i = 0; i < table->columns; i++) {
            /* The last column needs no padding at its right. */
            int width = i == table->columns - 1 && align[i] == 'l' ? 0 : widths[i];
            fprintf(out, "%s%*s", i ? "  " : "", align[i] == 'l' ? -width : width,
                    table->cells[row][i]);
        }
        fputc('\n', out);
    }
}
