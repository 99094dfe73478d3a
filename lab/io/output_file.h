/* SPDX-License-Identifier: Apache-2.0 */
/* output_file.h - writes files of --output: checks them before a measurement, and replaces them as a whole by a rename. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

enum { LAB_OUTPUT_PATH_BYTES = PATH_MAX };

/* A file that is being written. A regular file is written under a temporary name in the same folder and renamed at the end; a
 * device or a pipe is written directly. */
typedef struct lab_output_file {
    char path[LAB_OUTPUT_PATH_BYTES];           /* with symbolic links followed, so that a link is not replaced */
    char temporary[LAB_OUTPUT_PATH_BYTES + 64]; /* "" if the file is written directly */
    bool is_direct;
    FILE *stream;
} lab_output_file;

/* Returns NULL if `name` can be written, else why not, as a sentence that begins with the name. Tries it: creates
 * and removes a file beside a regular file. Devices and pipes are not opened; their permissions decide. */
const char *lab_output_check(const char *name);

/* Returns whether the output `name` is the file `input`, which writing would replace: by the same name, through symbolic links
 * or through a hard link. */
bool lab_output_is_same_file(const char *name, const char *input);

/* Opens the file `name` for writing. Returns false, with errno set, if that is not possible. */
bool lab_output_open(const char *name, lab_output_file *file);

/* Closes the stream and gives the file its name. Returns false, with errno set, if anything failed since
 * lab_output_open: then the temporary file is removed, and an existing file is unchanged. */
bool lab_output_commit(lab_output_file *file);

/* Writes one value of a CSV file, in quotes if necessary. */
void lab_csv_write(FILE *out, const char *text);

/* Closes and removes the temporary file. */
void lab_output_discard(lab_output_file *file);
