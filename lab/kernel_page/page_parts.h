/* SPDX-License-Identifier: Apache-2.0 */
/* page_parts.h - the parts of the page, for lab/kernel_page only. */
#pragma once

#include "kernel_page/kernel_page.h"
#include "report/report.h"

/* The lines of the source that a page shows. */
typedef struct lab_source_part {
    int64_t first, last; /* from 1 */
    int64_t line_count;  /* of the file */
} lab_source_part;

/* Returns the lines to show: all, or those around the kernel if the file is long. */
lab_source_part lab_source_part_of(const lab_kernel_page *page);

/* Returns a line without its end, as the page shows it: at most `capacity` - 1 bytes. */
void lab_source_line(const char *source, int64_t number, char *text, size_t capacity);

/* Writes the table of the source with the counts of each line (source_table.c). */
void lab_page_source_table(lab_page *out, const lab_kernel_page *page);

/* Writes a figure with the two lines and the two threads of a finding (race_figure.c). */
void lab_page_race_figure(lab_page *out, const lab_kernel_page *page, const lab_finding *finding);

/* Writes the roofline, or why there is none (kernel_roofline.c). */
void lab_page_kernel_roofline(lab_page *out, const lab_kernel_page *page);
