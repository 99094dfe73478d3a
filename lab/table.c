/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - see table.h. */
#include "table.h"

#include <stdbool.h>
#include <string.h>

#include "terminal.h"

/* What does not fit is cut off, between characters, and ends in "...". */
static void fill_cell(char *cell, const char *text)
{
    static const char more[] = "...";
    size_t length = strlen(text);
    bool is_cut = length >= LAB_TABLE_CELL;
    if (is_cut)
        for (length = LAB_TABLE_CELL - sizeof more; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;
             length--)
            ;
    memcpy(cell, text, length);
    strcpy(cell + length, is_cut ? more : "");
}

void lab_table_add(lab_table *table, int columns, const char *const *cells)
{
    if (table->rows == LAB_TABLE_ROWS) {
        table->left_out++;
        return;
    }
    table->columns = columns;
    table->colours[table->rows] = LAB_PLAIN;
    for (int i = 0; i < columns; i++)
        fill_cell(table->cells[table->rows][i], cells[i]);
    table->rows++;
}

void lab_table_colour(lab_table *table, lab_colour colour)
{
    if (table->rows > 0)
        table->colours[table->rows - 1] = colour;
}

/* printf would count bytes. */
static void print_cell(const char *text, char align, int width, FILE *out)
{
    int padding = width - lab_text_width(text);
    if (padding < 0)
        padding = 0;
    fprintf(out, "%*s%s%*s", align == 'r' ? padding : 0, "", text, align == 'l' ? padding : 0, "");
}

void lab_table_print(const lab_table *table, const char *align, FILE *out)
{
    int widths[LAB_TABLE_COLUMNS] = {0};
    for (int row = 0; row < table->rows; row++)
        for (int i = 0; i < table->columns; i++) {
            int width = lab_text_width(table->cells[row][i]);
            if (width > widths[i])
                widths[i] = width;
        }
    for (int row = 0; row < table->rows; row++) {
        lab_colour_begin(table->colours[row], out);
        for (int i = 0; i < table->columns; i++) {
            /* The last column needs no padding at its right. */
            int width = i == table->columns - 1 && align[i] == 'l' ? 0 : widths[i];
            fputs(i ? "  " : "", out);
            print_cell(table->cells[row][i], align[i], width, out);
        }
        lab_colour_end(table->colours[row], out);
        fputc('\n', out);
    }
    if (table->left_out > 0)
        fprintf(out, "(%d more rows)\n", table->left_out);
}

void lab_write_ms(int64_t nanoseconds, char *text, size_t capacity)
{
    double ms = (double)nanoseconds * 1e-6;
    int decimals = ms >= 1000 ? 0 : ms >= 10 ? 1 : ms >= 0.1 ? 3 : ms >= 0.01 ? 4 : ms >= 0.001 ? 5 : 6;
    snprintf(text, capacity, "%.*f", decimals, ms);
}

void lab_write_bytes(double bytes, char *text, size_t capacity)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, capacity, "%.4g %s", bytes, units[unit]);
}
