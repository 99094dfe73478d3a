/* SPDX-License-Identifier: Apache-2.0 */
/* source_options.h - the options of the command line that decide how a CUDA file is compiled: --arch, -D and -I. */
#pragma once

#include "cli/options.h"

enum { LAB_DEFAULT_ARCHITECTURE = 86 };

typedef struct lab_source_options {
    int architecture;                        /* 86 for sm_86 */
    const char *items[2 * LAB_REPEATED_MAX]; /* for the compile job: "-DTILE=32", "-I", "FOLDER" */
    int count;
    char *texts[LAB_REPEATED_MAX]; /* items that are not texts of the command line */
    int text_count;
} lab_source_options;

/* Reads the options. The texts of the command line must live as long. Returns false with a sentence for the user. Call
 * lab_source_options_free() in every case. */
bool lab_source_options_read(const lab_options *options, lab_source_options *source, char *why, size_t capacity);
void lab_source_options_free(lab_source_options *source);
