/* SPDX-License-Identifier: Apache-2.0 */
/* operand_partition.h - the partition of A, B or C by grid.h: which rank's share has which elements of a rectangle, and where.
 *
 * All three are partitioned alike: rows and columns are split into parts and parts into chunks. The elements of a chunk, row
 * by row, are divided equally among its owners. */
#ifndef RUNGI_CLUSTER_OPERAND_PARTITION_H
#define RUNGI_CLUSTER_OPERAND_PARTITION_H

#include "rung/cluster.h"
#include "cluster/grid.h"

typedef struct rungi_operand_partition {
    rung_cluster_operand operand;
    const rung_cluster_grid *grid;
    int64_t rows, cols;
    int64_t row_parts, col_parts, row_chunks, col_chunks, owners;
} rungi_operand_partition;

rungi_operand_partition rungi_operand_partition_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                                   rung_cluster_operand operand);

/* Coordinates of a rank in the partition: its part, and its index among the owners of each chunk. */
typedef struct rungi_operand_partition_coords {
    int64_t row_part, col_part, owner;
} rungi_operand_partition_coords;

/* Finds the coordinates of a rank. Returns 0 if the rank is idle. */
int rungi_operand_partition_find_rank(const rungi_operand_partition *partition, int64_t rank,
                                      rungi_operand_partition_coords *coords);

/* Returns the part, which its owners hold together. */
rungi_rectangle rungi_operand_partition_part(const rungi_operand_partition *partition,
                                             rungi_operand_partition_coords coords);

/* Returns an owner's piece of chunk `index` of its part; `offset` is not set. */
rung_cluster_piece rungi_operand_partition_piece(const rungi_operand_partition *partition,
                                                 rungi_operand_partition_coords coords, int64_t index);

/* A rectangle whose elements are in one rank's share. */
typedef struct rungi_share_rectangle {
    rungi_rectangle rectangle; /* in the whole matrix */
    int64_t rank;
    int64_t chunk;  /* of the share */
    int64_t offset; /* elements from the start of the chunk */
    int64_t stride; /* elements from row to row */
} rungi_share_rectangle;

typedef void (*rungi_share_rectangle_function)(void *user, const rungi_share_rectangle *rectangle);

/* Calls `visit` for the parts of a rectangle in all shares, or in the share of only_rank (-1: all). The order is the same on
 * every rank. */
void rungi_operand_partition_visit(const rungi_operand_partition *partition, rungi_rectangle of, int64_t only_rank,
                                   rungi_share_rectangle_function visit, void *user);

#endif /* RUNGI_CLUSTER_OPERAND_PARTITION_H */
