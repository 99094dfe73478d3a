/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - a caller's matrix as blocks: where each begins, whose it is, and where this rank's are in memory.
 *
 * Block-cyclic matrices and those of any blocks look alike from here on, and so do transposed ones: rows and columns
 * are those that the multiply sees. */
#ifndef RUNGI_LAYOUT_H
#define RUNGI_LAYOUT_H

#include <stdbool.h>

#include <mpi.h>

#include "rung/cluster.h"
#include "cluster/shares.h"

/* One direction of it. */
typedef struct rungi_axis {
    int64_t extent, blocks;
    const int64_t *splits; /* NULL: it is cyclic, and these count */
    int64_t block, first;  /* `first` is where it begins in what is dealt out */
    int64_t processes, source;
    int64_t own, step; /* this rank's blocks are among `own`, `own` + `step` ... */
} rungi_axis;

typedef struct rungi_layout {
    const rung_cluster_matrix *matrix;
    rung_cluster_operand operand;
    rungi_axis rows, cols; /* as seen */
    int64_t rank;
    int64_t *views; /* of any blocks: the view of each, -1 of others' */
} rungi_layout;

/* Checks the matrix; `ranks` is the number of ranks. Of shares only the sizes are checked. The views of C must not
 * have an element twice. */
rung_status rungi_layout_open(const rung_cluster_matrix *matrix, rung_cluster_operand operand, int64_t rank,
                              int64_t ranks, rungi_layout *layout);
void rungi_layout_close(rungi_layout *layout);

/* Where a block begins, with `blocks` the end; and which one has this line. */
int64_t rungi_axis_start(const rungi_axis *axis, int64_t block);
int64_t rungi_axis_block(const rungi_axis *axis, int64_t line);

rungi_rectangle rungi_layout_block(const rungi_layout *layout, int64_t i, int64_t j);
int64_t rungi_layout_owner(const rungi_layout *layout, int64_t i, int64_t j);

/* A block of this rank's own, in memory. */
rung_matrix rungi_layout_view(const rungi_layout *layout, int64_t i, int64_t j);

/* What all ranks should say alike, as a number. */
uint64_t rungi_layout_signature(const rungi_layout *layout, uint64_t before);
uint64_t rungi_signature(uint64_t before, const void *bytes, int64_t count);

#endif /* RUNGI_LAYOUT_H */
