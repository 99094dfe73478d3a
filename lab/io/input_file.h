/* SPDX-License-Identifier: Apache-2.0 */
/* input_file.h - opens the files that the lab reads. A FIFO, a device or a folder would block or never end, so only regular
 * files up to a size are accepted. */
#ifndef LAB_INPUT_FILE_H
#define LAB_INPUT_FILE_H

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

/* Reads a whole file, with a zero after its last byte, for free(). Returns NULL with the reason. */
char *lab_file_read(const char *path, int64_t limit, size_t *length, char *why, size_t capacity);

#endif /* LAB_INPUT_FILE_H */
