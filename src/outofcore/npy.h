/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - the header of NumPy's file format, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
 * Files come from anywhere, so it is read strictly, and nothing in it is evaluated. */
#ifndef RUNGI_OUTOFCORE_NPY_H
#define RUNGI_OUTOFCORE_NPY_H

#include <stdbool.h>

#include "rung/rung.h"

enum {
    RUNGI_NPY_MOST = 1 << 16, /* bytes of a header that is read; NumPy itself stops at 10,000 */
    RUNGI_NPY_WRITTEN = 128   /* bytes of one that is written */
};

typedef struct rungi_npy {
    rung_type type;
    int64_t rows, cols;
    bool by_columns;
    int64_t start; /* bytes before the first element */
} rungi_npy;

/* NULL, or what is wrong with it, as the end of a sentence that begins with the file's name. `count` bytes are
 * there, all of the file or RUNGI_NPY_MOST. For `as` see rung_outofcore_matrix_open_npy. */
const char *rungi_npy_parse(const char *bytes, int64_t count, rung_type as, rungi_npy *npy);

/* The header of dense rows. */
void rungi_npy_write(rung_type type, int64_t rows, int64_t cols, char header[RUNGI_NPY_WRITTEN]);

#endif /* RUNGI_OUTOFCORE_NPY_H */
