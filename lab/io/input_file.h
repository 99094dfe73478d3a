/* SPDX-License-Identifier: Apache-2.0 */
/* input_file.h - opens and reads the input files of the lab. A FIFO, a device or a folder would block or never end, so only regular
 * files up to a size are accepted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Size limits in bytes. */
enum { LAB_KERNEL_BYTES_MAX = 4 << 20, LAB_TEXT_BYTES_MAX = 16 << 20 };
#define LAB_RESULT_BYTES_MAX ((int64_t)1 << 30)

/* Returns whether an open file is a regular file of at most `limit` bytes; writes why not, without the file's name. */
bool lab_file_check(int file, int64_t limit, char *why, size_t capacity);

/* Opens a file for reading, for fclose(). Never blocks, and no child process inherits the file. Returns NULL with the
 * reason, without the file's name. */
FILE *lab_file_open(const char *path, int64_t limit, char *why, size_t capacity);

/* Reads a whole file, with a zero after its last byte, for free(). Returns NULL with the reason; errno is that of the call that
 * failed, if one did. */
char *lab_file_read(const char *path, int64_t limit, size_t *length, char *why, size_t capacity);

/* Receives one field. Returns NULL, or an error. */
typedef const char *(*lab_key_value_function)(void *user, const char *field, const char *value);

/* Reads a text file with one "field = value" per line and comments after #, and calls `take` for every field. Returns false
 * with a message that names the file and the line. */
bool lab_key_values_read(const char *path, lab_key_value_function take, void *user, char *why, size_t capacity);
