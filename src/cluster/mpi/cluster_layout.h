/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_layout.h - a caller's distributed matrix as blocks: position, owner and, on this rank, memory of each block.
 *
 * Hides the difference between block-cyclic and general layouts, and between transposed matrices and others: rows and
 * columns are those of the multiply. */
#pragma once

#include <stdbool.h>

#include <mpi.h>

#include "rung/cluster.h"
#include "cluster/grid.h"

/* Rows or columns. */
typedef struct rungi_cluster_layout_axis {
    int64_t extent, blocks;
    const int64_t *splits;      /* NULL: cyclic; then the members below are used */
    int64_t block_size, offset; /* offset: of the matrix in the distributed array */
    int64_t processes, source;
    int64_t first_own, own_step; /* this rank's blocks are among first_own, first_own + own_step, ... */
} rungi_cluster_layout_axis;

typedef struct rungi_cluster_layout {
    const rung_cluster_matrix *matrix;
    rung_cluster_operand operand;
    rungi_cluster_layout_axis rows, cols; /* of the multiply */
    int64_t rank;
    int64_t *views; /* general layout: index of each block's view; -1: another rank's block */
} rungi_cluster_layout;

/* Checks a matrix on `ranks` ranks and fills `layout`. Of shares, only the sizes are checked. Views of C must not have
 * overlapping elements. Close the layout also after a failure. */
rung_status rungi_cluster_layout_open(const rung_cluster_matrix *matrix, rung_cluster_operand operand, int64_t rank,
                                      int64_t ranks, rungi_cluster_layout *layout);
void rungi_cluster_layout_close(rungi_cluster_layout *layout);

/* Return where a block begins (`blocks`: the end), and the block that contains a line. */
int64_t rungi_cluster_layout_axis_start(const rungi_cluster_layout_axis *axis, int64_t block);
int64_t rungi_cluster_layout_axis_block(const rungi_cluster_layout_axis *axis, int64_t line);

rungi_rectangle rungi_cluster_layout_block(const rungi_cluster_layout *layout, int64_t i, int64_t j);
int64_t rungi_cluster_layout_owner(const rungi_cluster_layout *layout, int64_t i, int64_t j);

/* Returns the view of a block of this rank. */
rung_matrix rungi_cluster_layout_view(const rungi_cluster_layout *layout, int64_t i, int64_t j);

/* Returns a hash of everything that must be equal on all ranks. */
uint64_t rungi_cluster_layout_fingerprint(const rungi_cluster_layout *layout, uint64_t seed);
