/* SPDX-License-Identifier: Apache-2.0 */
/* output_file.h - files of --output: checked before minutes are spent, and replaced as a whole by a rename. */
#ifndef LAB_OUTPUT_FILE_H
#define LAB_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

enum { LAB_OUTPUT_PATH = 4096 };

/* A file that is being written. A regular file is written beside its place and renamed at the end; a device or a pipe is
 * written directly. */
typedef struct lab_output_file {
    char path[LAB_OUTPUT_PATH];           /* its place, with symbolic links followed: a link is not replaced */
    char temporary[LAB_OUTPUT_PATH + 64]; /* a name that no file had; "" if the file is written directly */
    bool is_direct;
    FILE *stream;
} lab_output_file;

/* Returns NULL if `name` can be written, else why not, as a sentence that begins with the name. Tries it: creates
 * and removes a file beside a regular file. Devices and pipes are not opened; their permissions decide. */
const char *lab_output_check(const char *name);

/* Returns whether the output `name` is the file `input`, which writing would replace: by the same name, through symbolic links
 * or through a hard link. */
bool lab_output_is(const char *name, const char *input);

/* Opens the file `name` for writing. Returns false, with errno set, if that is not possible. */
bool lab_output_begin(const char *name, lab_output_file *file);

/* Closes the stream and gives the file its name. Returns false, with errno set, if anything failed since
 * lab_output_begin: then the temporary file is removed, and a file at the place stays what it was. */
bool lab_output_commit(lab_output_file *file);

/* Closes and removes the temporary file. */
void lab_output_discard(lab_output_file *file);

#endif /* LAB_OUTPUT_FILE_H */
