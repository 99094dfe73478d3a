/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_page.h - draws the explanation of one kernel as one self-contained HTML file. The interface of lab/kernel_page to the
 * rest of the lab.
 *
 * The page has the source with the requests of each line, the sectors and banks of single requests, the findings of the
 * emulator's checks, and the roofline. Tables and charts are written here; page.js draws the requests from the JSON of the
 * explanation, which the page contains. Everything from the kernel's file is escaped. */
#pragma once

#include "explain/explain.h"

typedef struct lab_kernel_page {
    const lab_explanation *explanation; /* with a trace */
    const char *file, *source;          /* name without folder, and text */
    int64_t kernel_line;                /* of the kernel's declaration; 0 if unknown */
    const char *note;                   /* what the reader must know about the launch; "" if nothing */
    const char *data;                   /* the JSON object of the kernel */
} lab_kernel_page;

/* Writes the file `path`. Returns false, with a sentence. */
bool lab_kernel_page_save(const lab_kernel_page *page, const char *path, char *why, size_t capacity);

/* Prints what the page shows, in one line. */
void lab_kernel_page_print_summary(const lab_kernel_page *page, const char *path);
