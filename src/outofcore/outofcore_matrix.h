/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_matrix.h - a matrix in memory or in a file: copies blocks from and to it, and checks it. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "rung/outofcore.h"

/* A matrix in memory (view.data) or in a file. In a file, element 0 of the view begins data_offset bytes into the file. */
struct rung_outofcore_matrix {
    rung_matrix view;
    int fd; /* -1: none */
    int64_t data_offset;
};

/* Returns an absent matrix, of which only the type is used. */
rung_outofcore_matrix rungi_outofcore_matrix_absent(rung_type type);

/* Returns whether the matrix, and therefore a copied block of it, is column-major. */
bool rungi_outofcore_matrix_is_column_major(const rung_outofcore_matrix *matrix);

/* Checks type, shape and strides, and that there is memory or a file. Error messages use `name`. The elements of a matrix
 * that is written must not overlap. */
rung_status rungi_outofcore_matrix_check(const rung_outofcore_matrix *matrix, const char *name, bool is_written);

/* Copies a block to `to` as dense columns or dense rows. */
rung_status rungi_outofcore_matrix_load(const rung_outofcore_matrix *matrix, rung_matrix block, bool is_column_major,
                                        void *to);

/* Copies dense rows to a block. */
rung_status rungi_outofcore_matrix_store(const rung_outofcore_matrix *matrix, rung_matrix block, const void *from);

/* Computes the byte range from the first element to the end of the last; 0 to 0 if the view is empty. Returns false if an
 * offset overflows. */
bool rungi_outofcore_view_byte_range(const rung_matrix *view, int64_t *first, int64_t *end);

/* Returns whether two matrices share bytes of memory or of a file, also if the file was opened by two names. */
bool rungi_outofcore_matrix_overlaps(const rung_outofcore_matrix *x, const rung_outofcore_matrix *y);

/* Computes a hash of samples that are spread evenly over a file: all of a small file, at most 8 KiB of a large one. Most
 * changes of the contents change the hash, also if size and times stay the same. */
rung_status rungi_outofcore_file_fingerprint(int fd, uint64_t *hash);
