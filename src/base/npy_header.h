/* SPDX-License-Identifier: Apache-2.0 */
/* npy_header.h - reads and writes the header of NumPy's file format
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). Files are untrusted: the parser is strict and
 * evaluates nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RUNGI_NPY_HEADER_MAX_BYTES = 1 << 16 }; /* NumPy's own limit is 10,000 */
enum { RUNGI_NPY_HEADER_BYTES = 128 };         /* when writing */
enum { RUNGI_NPY_DIMENSIONS_MAX = 8, RUNGI_NPY_TYPE_BYTES = 16 };

typedef struct rungi_npy_header {
    char type[RUNGI_NPY_TYPE_BYTES]; /* "<f4" */
    int dimensions;                  /* may exceed RUNGI_NPY_DIMENSIONS_MAX; only the first sizes are then known */
    int64_t sizes[RUNGI_NPY_DIMENSIONS_MAX];
    bool is_column_major;
    int64_t data_offset; /* bytes before the first element */
} rungi_npy_header;

/* Parses a header. Returns NULL, or what is wrong: the end of a sentence that begins with the file's name. `count` is the
 * number of bytes: the size of the file, or RUNGI_NPY_HEADER_MAX_BYTES if the file is larger. */
const char *rungi_npy_header_parse(const char *bytes, int64_t count, rungi_npy_header *header);

/* Writes the header of a dense row-major matrix. `type` is NumPy's name of it, such as "<f4". */
void rungi_npy_header_write(const char *type, int64_t rows, int64_t cols, char header[RUNGI_NPY_HEADER_BYTES]);
