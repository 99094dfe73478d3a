/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - a report as one file of HTML that needs nothing else: its style, its tables, its pictures, and each
 * picture beside its numbers.
 *
 * It is XML too, so that any reader of XML can say whether it is whole. */
#ifndef LAB_PAGE_H
#define LAB_PAGE_H

#include <stdint.h>

#include "output_file.h"
#include "svg.h"

/* A table that is gathered cell by cell: the first row are its heads. */
typedef struct lab_grid {
    const char *align; /* an l or an r a column; NULL: numbers to the right */
    int columns;
    char **cells;
    int64_t count, room;
    bool is_lost; /* there was no memory for all of it */
} lab_grid;

void lab_grid_begin(lab_grid *grid, int columns, const char *align, const char *const *heads);
void lab_grid_add(lab_grid *grid, const char *format, ...);
void lab_grid_number(lab_grid *grid, double value); /* with few digits; "-" if it is not above zero */
int64_t lab_grid_rows(const lab_grid *grid);        /* without the heads */
void lab_grid_free(lab_grid *grid);

/* Every digit that it takes to read it again, and no more. */
void lab_write_exact(double value, char *text, size_t capacity);

typedef struct lab_page {
    FILE *out;
    const char *charts; /* a folder for the pictures and their numbers, or NULL */
    const char *version;
    const char *open; /* the part of the page that is being written */
    char (*slugs)[64];
    int figure_count;
    char why[LAB_OUTPUT_PATH + 512]; /* what could not be written, "" so far */
} lab_page;

/* What a number is: the word stands beside it. */
#define LAB_MEASURED "measured"
#define LAB_COUNTED "counted"
#define LAB_PREDICTED "predicted"
#define LAB_REPORTED "reported"

typedef struct lab_figure {
    const char *slug, *title, *kind;
    const char *context;               /* what stands in the page above it; NULL if its title says it all */
    const char *caption, *description; /* below the title; for those who do not see the picture */
    void (*draw)(lab_svg *svg, const void *data);
    const void *data;
    const lab_grid *grid;
} lab_figure;

void lab_page_begin(lab_page *page, const char *title);
void lab_page_end(lab_page *page);
void lab_page_section(lab_page *page, const char *id, const char *title);      /* closes the one before */
void lab_page_text(lab_page *page, const char *kind, const char *format, ...); /* a paragraph of a class, "" for none */
void lab_page_table(lab_page *page, const char *caption, const lab_grid *grid);
void lab_page_details(lab_page *page, const char *summary, const lab_grid *grid);
void lab_page_figure(lab_page *page, const lab_figure *figure);

#endif /* LAB_PAGE_H */
