/* SPDX-License-Identifier: Apache-2.0 */
/* operand_partition.h - the partition of A, B or C by grid.h: which rank's share has which elements of a rectangle, and where.
 *
 * All three are partitioned alike: rows and columns are split into parts and parts into chunks. The elements of a chunk, row
 * by row, are divided equally among its owners. */
#pragma once

#include <stdbool.h>

#include "cluster/grid.h"

/* Rows or columns. */
typedef struct rungi_partition_axis {
    int64_t extent, parts;
    int64_t chunks; /* per part */
    int64_t part;   /* of this rank */
} rungi_partition_axis;

/* A partition as one rank sees it. */
typedef struct rungi_partition {
    rung_cluster_operand operand;
    const rung_cluster_grid *grid;
    rungi_partition_axis rows, cols;
    rungi_rectangle part;  /* of this rank, which its owners hold together */
    int64_t chunks;        /* per part: row chunks times column chunks */
    int64_t owners, owner; /* of each chunk, and this rank's index among them */
    bool is_idle;          /* this rank has no part */
} rungi_partition;

rungi_partition rungi_partition_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                   rung_cluster_operand operand, int64_t rank);

/* Returns the rank that is owner `owner` of the chunks of a part. */
int64_t rungi_partition_rank(const rungi_partition *partition, int64_t row_part, int64_t col_part, int64_t owner);

/* Returns this rank's piece of chunk `index` of its part; `offset` is not set. The rectangle is the whole chunk. */
rung_cluster_piece rungi_partition_piece(const rungi_partition *partition, int64_t index);

/* A rectangle whose elements are in one rank's share. */
typedef struct rungi_share_rectangle {
    rungi_rectangle rectangle; /* in the whole matrix */
    int64_t rank;
    int64_t chunk;  /* of the share */
    int64_t offset; /* elements from the start of the chunk */
    int64_t stride; /* elements from row to row */
} rungi_share_rectangle;

typedef void (*rungi_share_rectangle_function)(void *user, const rungi_share_rectangle *rectangle);

/* Calls `visit` for the parts of a rectangle in all shares, or only in this rank's share. The order is the same on every
 * rank. */
void rungi_partition_visit(const rungi_partition *partition, rungi_rectangle of, bool only_own,
                           rungi_share_rectangle_function visit, void *user);
