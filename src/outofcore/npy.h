/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - reads and writes the headers of matrices in NumPy's file format; see base/npy_header.h. */
#pragma once

#include <stdbool.h>

#include "base/npy_header.h"
#include "rung/rung.h"

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
