/* SPDX-License-Identifier: Apache-2.0 */
/* stored.h - blocks of a matrix that stands in memory or in a file, copied out and in. */
#ifndef RUNGI_OUTOFCORE_STORED_H
#define RUNGI_OUTOFCORE_STORED_H

#include <stdbool.h>

#include "rung/outofcore.h"

/* A matrix in memory (view.data), or in a file. In a file, element 0 of the view begins `start` bytes into `file`. */
struct rung_outofcore_matrix {
    rung_matrix view;
    int file; /* -1: none */
    int64_t start;
};

typedef rung_outofcore_matrix rungi_stored;

/* An absent matrix, of which only the type counts. */
rungi_stored rungi_stored_absent(rung_type type);

/* Whether blocks of it are kept column by column, because it stands so itself. */
bool rungi_stored_by_columns(const rungi_stored *stored);

/* Checks what a caller made: type, shape and strides, and that it has memory or a file. `name` is for the sentence. The
 * elements of one that is written must not overlap. */
rung_status rungi_stored_check(const rungi_stored *stored, const char *name, bool is_written);

/* Copies a block out, dense, in its own order, or into rows (`by_columns` false); and dense rows in. */
rung_status rungi_stored_get(const rungi_stored *stored, rung_matrix block, bool by_columns, void *to);
rung_status rungi_stored_put(const rungi_stored *stored, rung_matrix block, const void *from);

/* The bytes from the first element to behind the last; none of an empty one. */
bool rungi_stored_span(const rung_matrix *view, int64_t *first, int64_t *end);

/* Whether two stand in the same bytes somewhere, of memory or of a file, by whatever names that was opened. */
bool rungi_stored_meet(const rungi_stored *x, const rungi_stored *y);

/* Computes a hash of parts of a file that are evenly spread over it: all of a small file, at most 8 KiB of a large one. Most
 * changes of contents change it, also where size and times stay the same. */
rung_status rungi_file_sample(int file, uint64_t *hash);

#endif /* RUNGI_OUTOFCORE_STORED_H */
