/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - reads and writes the header of NumPy's file format
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). Files are untrusted: the parser is strict and
 * evaluates nothing. */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"

enum {
    RUNGI_NPY_HEADER_MAX_BYTES = 1 << 16, /* maximum when reading; NumPy's own limit is 10,000 */
    RUNGI_NPY_HEADER_BYTES = 128          /* when writing */
};

typedef struct rungi_npy {
    rung_type type;
    int64_t rows, cols;
    bool is_column_major;
    int64_t data_offset; /* bytes before the first element */
} rungi_npy;

/* Parses a header. Returns NULL, or what is wrong: the end of a sentence that begins with the file's name. `count` is the
 * size of the file, at most RUNGI_NPY_HEADER_MAX_BYTES. For `expected_type` see rung_outofcore_matrix_open_npy(). */
const char *rungi_npy_parse(const char *bytes, int64_t count, rung_type expected_type, rungi_npy *npy);

/* Writes the header of a dense row-major matrix. */
void rungi_npy_write(rung_type type, int64_t rows, int64_t cols, char header[RUNGI_NPY_HEADER_BYTES]);
