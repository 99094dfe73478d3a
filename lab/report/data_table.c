/* SPDX-License-Identifier: Apache-2.0 */
/* data_table.c - tables of a report: collects cells and writes them as HTML; see html_page.h. */
#define _GNU_SOURCE /* vasprintf */
#include "report/html_page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/growing_array.h"
#include "io/xml_escape.h"
#include "report/chart.h"

void lab_data_table_begin(lab_data_table *grid, int columns, const char *align, const char *const *heads)
{
    *grid = (lab_data_table){.columns = columns, .align = align};
    for (int i = 0; i < columns; i++)
        lab_data_table_add(grid, "%s", heads[i]);
}

void lab_data_table_add(lab_data_table *grid, const char *format, ...)
{
    va_list arguments;
    char **larger = lab_array_grow(grid->cells, grid->count, sizeof *larger);
    grid->cells = larger ? larger : grid->cells;
    va_start(arguments, format);
    if (larger && vasprintf(&larger[grid->count], format, arguments) >= 0)
        grid->count++;
    else
        grid->has_failed = true;
    va_end(arguments);
}

void lab_data_table_add_number(lab_data_table *grid, double value)
{
    lab_data_table_add(grid, "%s", value > 0 ? lab_short_number(value).text : "-");
}

int64_t lab_data_table_rows(const lab_data_table *grid)
{
    return grid->columns > 0 && grid->count > grid->columns ? grid->count / grid->columns - 1 : 0;
}

void lab_data_table_free(lab_data_table *grid)
{
    for (int64_t i = 0; i < grid->count; i++)
        free(grid->cells[i]);
    free(grid->cells);
    *grid = (lab_data_table){0};
}

static bool is_gap(const char *cell)
{
    return !*cell || strcmp(cell, "-") == 0;
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && (!*end || strcmp(end, " %") == 0 || strcmp(end, " x") == 0);
}

/* Returns the alignment of a column, l or r; 0 if the column has nothing but gaps and is not shown. The first column is
 * always shown. */
static char alignment_of(const lab_data_table *grid, int column)
{
    bool has_numbers = false, has_texts = false;
    for (int64_t i = grid->columns + column; i < grid->count; i += grid->columns) {
        has_numbers = has_numbers || (!is_gap(grid->cells[i]) && is_number(grid->cells[i]));
        has_texts = has_texts || (!is_gap(grid->cells[i]) && !is_number(grid->cells[i]));
    }
    if (column > 0 && !has_numbers && !has_texts)
        return 0;
    if (grid->align)
        return grid->align[column];
    return has_numbers && !has_texts ? 'r' : 'l';
}

/* Short texts stay on one line; long texts may wrap. */
static void write_cell(lab_page *page, const char *tag, bool is_right, const char *text)
{
    enum { SHORT = 34 };
    fprintf(page->out, "<%s%s>", tag, is_right ? " class=\"r\"" : strlen(text) > SHORT ? " class=\"w\"" : "");
    lab_html_escape(page->out, text);
    fprintf(page->out, "</%.2s>", tag);
}

static void write_row(lab_page *page, const lab_data_table *grid, int64_t row, const char *column_alignment)
{
    fputs("<tr>", page->out);
    for (int i = 0; i < grid->columns; i++)
        if (column_alignment[i])
            write_cell(page,
                       row == 0 ? "th scope=\"col\""
                       : i == 0 ? "th scope=\"row\""
                                : "td",
                       column_alignment[i] == 'r', grid->cells[row * grid->columns + i]);
    fputs("</tr>\n", page->out);
}

static void write_table(lab_page *page, const char *caption, const lab_data_table *grid)
{
    char *column_alignment = calloc((size_t)grid->columns + 1, 1); /* per column: l, r, or 0 if not shown */
    if (grid->has_failed || !column_alignment) {
        snprintf(page->why, sizeof page->why, "out of memory");
        free(column_alignment);
        return;
    }
    for (int i = 0; i < grid->columns; i++)
        column_alignment[i] = alignment_of(grid, i);
    lab_html_write(
        page->out,
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\"><table><caption>%s</caption>\n"
        "<thead>",
        caption, caption);
    write_row(page, grid, 0, column_alignment);
    fputs("</thead>\n<tbody>\n", page->out);
    for (int64_t row = 1; row <= lab_data_table_rows(grid); row++)
        write_row(page, grid, row, column_alignment);
    fputs("</tbody></table></div>\n", page->out);
    free(column_alignment);
}

void lab_page_table(lab_page *page, const char *caption, const lab_data_table *grid)
{
    if (lab_data_table_rows(grid) > 0)
        write_table(page, caption, grid);
}

void lab_page_details(lab_page *page, const char *summary, const lab_data_table *grid)
{
    if (lab_data_table_rows(grid) == 0)
        return;
    lab_html_write(page->out, "<details><summary>%s</summary>\n", summary);
    write_table(page, summary, grid);
    fputs("</details>\n", page->out);
}
