/* SPDX-License-Identifier: Apache-2.0 */
/* temporary_file.h - temporary files: where they go, and how they are opened so that no child process inherits them. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* The folder for temporary files: TMPDIR, or /tmp. */
const char *lab_temporary_folder(void);

/* Formats a message for a failure with this errno, and what to do. */
void lab_temporary_error_text(int error, char *why, size_t capacity);

/* Opens a file in lab_temporary_folder() for reading and writing, and removes its name at once. Returns NULL and sets
 * errno on failure; lab_temporary_error_text() has the message. */
FILE *lab_temporary_open(void);

/* Returns the whole contents of a file and their length; the caller frees the text. NULL on failure. */
char *lab_temporary_read(FILE *file, size_t *length);
