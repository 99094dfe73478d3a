/* SPDX-License-Identifier: Apache-2.0 */
/* data_table.c - tables of a report: collects cells and writes them as HTML; see html_page.h. */
#define _GNU_SOURCE /* vasprintf */
#include "report/html_page.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"

/* ---- Tables ---- */

static void add_cell(lab_data_table *grid, const char *text)
{
    if (grid->count == grid->room) {
        int64_t room = grid->room > 0 ? 2 * grid->room : 256;
        char **larger = realloc(grid->cells, (size_t)room * sizeof *larger);
        if (!larger) {
            grid->has_failed = true;
            return;
        }
        grid->cells = larger;
        grid->room = room;
    }
    char *copy = malloc(strlen(text) + 1);
    if (copy)
        grid->cells[grid->count++] = strcpy(copy, text);
    else
        grid->has_failed = true;
}

void lab_data_table_begin(lab_data_table *grid, int columns, const char *align, const char *const *heads)
{
    *grid = (lab_data_table){.columns = columns, .align = align};
    for (int i = 0; i < columns; i++)
        add_cell(grid, heads[i]);
}

void lab_data_table_add(lab_data_table *grid, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (text)
        add_cell(grid, text);
    else
        grid->has_failed = true;
    free(text);
}

void lab_data_table_add_number(lab_data_table *grid, double value)
{
    char text[40] = "-";
    if (value > 0)
        lab_format_short(value, text, sizeof text);
    add_cell(grid, text);
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

void lab_format_exact(double value, char *text, size_t capacity)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, capacity, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && (!*end || strcmp(end, " %") == 0 || strcmp(end, " x") == 0);
}

/* A column of numbers and gaps. */
static bool is_right_aligned(const lab_data_table *grid, int column)
{
    bool any = false;
    if (grid->align)
        return grid->align[column] == 'r';
    for (int64_t i = grid->columns + column; i < grid->count; i += grid->columns) {
        const char *cell = grid->cells[i];
        if (!*cell || strcmp(cell, "-") == 0)
            continue;
        if (!is_number(cell))
            return false;
        any = true;
    }
    return any;
}

/* Short words stay on a line, long ones get room to wrap in. */
static void write_cell(lab_page *page, const char *tag, bool is_right, const char *text)
{
    enum { SHORT = 34 };
    fprintf(page->out, "<%s%s>", tag, is_right ? " class=\"r\"" : strlen(text) > SHORT ? " class=\"w\"" : "");
    lab_html_escape(page->out, text);
    fprintf(page->out, "</%.2s>", tag);
}

/* Nothing but gaps: not shown. */
static bool is_empty_column(const lab_data_table *grid, int column)
{
    for (int64_t i = grid->columns + column; i < grid->count; i += grid->columns)
        if (*grid->cells[i] && strcmp(grid->cells[i], "-") != 0)
            return false;
    return true;
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
    char *column_alignment = calloc((size_t)grid->columns + 1, 1); /* of each column l, r, or 0 where it is not shown */
    if (grid->has_failed || !column_alignment) {
        snprintf(page->why, sizeof page->why, "out of memory");
        free(column_alignment);
        return;
    }
    for (int i = 0; i < grid->columns; i++)
        column_alignment[i] = i > 0 && is_empty_column(grid, i) ? 0 : is_right_aligned(grid, i) ? 'r' : 'l';
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", page->out);
    lab_html_escape(page->out, caption);
    fputs("\"><table><caption>", page->out);
    lab_html_escape(page->out, caption);
    fputs("</caption>\n<thead>", page->out);
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
    fputs("<details><summary>", page->out);
    lab_html_escape(page->out, summary);
    fputs("</summary>\n", page->out);
    write_table(page, summary, grid);
    fputs("</details>\n", page->out);
}
