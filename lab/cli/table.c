/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - see table.h. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

/* Copies a text to a cell. A text that is too long is truncated between characters and ends in "...". */
static void fill_cell(char *cell, const char *text)
{
    static const char more[] = "...";
    size_t length = strlen(text);
    bool is_truncated = length >= LAB_TABLE_CELL_BYTES;
    if (is_truncated)
        for (length = LAB_TABLE_CELL_BYTES - sizeof more; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;
             length--)
            ;
    memcpy(cell, text, length);
    strcpy(cell + length, is_truncated ? more : "");
}

void lab_table_begin_row(lab_table *table)
{
    table->columns = 0;
    if (table->rows == LAB_TABLE_ROWS_MAX)
        table->left_out++;
    else
        table->colours[table->rows++] = LAB_PLAIN;
}

void lab_table_cell(lab_table *table, const char *format, ...)
{
    char text[8 * LAB_TABLE_CELL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (table->left_out == 0)
        fill_cell(table->cells[table->rows - 1][table->columns], text);
    table->columns++;
}

void lab_table_cell_ms(lab_table *table, int64_t nanoseconds)
{
    char text[32];
    lab_format_ms(nanoseconds, text, sizeof text);
    lab_table_cell(table, "%s", text);
}

void lab_table_add(lab_table *table, int columns, const char *const *cells)
{
    lab_table_begin_row(table);
    for (int i = 0; i < columns; i++)
        lab_table_cell(table, "%s", cells[i]);
}

void lab_table_colour(lab_table *table, lab_terminal_colour colour)
{
    if (table->rows > 0)
        table->colours[table->rows - 1] = colour;
}

/* Pads by characters, because printf counts bytes. */
static void print_cell(const char *text, char align, int width, FILE *out)
{
    int padding = width - lab_text_width(text);
    if (padding < 0)
        padding = 0;
    fprintf(out, "%*s%s%*s", align == 'r' ? padding : 0, "", text, align == 'l' ? padding : 0, "");
}

void lab_table_print(const lab_table *table, const char *align, FILE *out)
{
    int widths[LAB_TABLE_COLUMNS_MAX] = {0};
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
