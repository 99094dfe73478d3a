/* SPDX-License-Identifier: Apache-2.0 */
/* html_page.h - writes a report as one self-contained HTML file: style, tables, charts, and the numbers of each chart.
 * The file is also valid XML, so that any XML parser can check it. */
#pragma once

#include <stdint.h>

#include "io/output_file.h"
#include "report/svg.h"

/* A table that is filled cell by cell; the first row has the column titles. */
typedef struct lab_data_table {
    const char *align; /* one l or r per column; NULL: numbers are right-aligned */
    int columns;
    char **cells;
    int64_t count;
    bool has_failed; /* memory was exhausted */
} lab_data_table;

void lab_data_table_begin(lab_data_table *grid, int columns, const char *align, const char *const *heads);
void lab_data_table_add(lab_data_table *grid, const char *format, ...);
void lab_data_table_add_number(lab_data_table *grid, double value); /* with few digits; "-" for 0 and below */
int64_t lab_data_table_rows(const lab_data_table *grid);            /* without the titles */
void lab_data_table_free(lab_data_table *grid);

typedef struct lab_page {
    FILE *out;
    const char *charts_folder; /* folder for the charts and their numbers, or NULL */
    const char *version;
    const char *eyebrow;      /* above the title; NULL: "rung report" */
    const char *style;        /* a style sheet after the page's own; NULL: none */
    const char *footer;       /* what the page needs; NULL: no network and no script */
    const char *open_element; /* the open element of the page */
    char (*slugs)[64];
    int figure_count;
    char why[LAB_OUTPUT_PATH_BYTES + 512]; /* what could not be written; "" if nothing failed */
} lab_page;

/* Kind of the numbers of a figure, printed beside it. */
#define LAB_FIGURE_MEASURED "measured"
#define LAB_FIGURE_COUNTED "counted"
#define LAB_FIGURE_PREDICTED "predicted"
#define LAB_FIGURE_REPORTED "reported"

typedef struct lab_figure {
    const char *slug, *title, *kind;
    const char *context;               /* heading above the figure on the page; NULL: none */
    const char *caption, *description; /* caption below the title, and a description for screen readers */
    void (*draw)(lab_svg *svg, const void *data);
    const void *data;
    const lab_data_table *grid;
} lab_figure;

void lab_page_begin(lab_page *page, const char *title);
void lab_page_end(lab_page *page);
void lab_page_section(lab_page *page, const char *id, const char *title);      /* closes the previous one */
void lab_page_text(lab_page *page, const char *kind, const char *format, ...); /* kind: the CSS class */
void lab_page_table(lab_page *page, const char *caption, const lab_data_table *grid);
void lab_page_details(lab_page *page, const char *summary, const lab_data_table *grid);
void lab_page_figure(lab_page *page, const lab_figure *figure);
