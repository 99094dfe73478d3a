/* SPDX-License-Identifier: Apache-2.0 */
/* deal.h - one of A, B and C as shares.h deals it out: which elements of a rectangle are in whose share, and where.
 *
 * For all three it is the same: rows and columns are cut into parts and these into chunks, and a chunk's elements, row
 * by row, are dealt to so many hands. */
#ifndef RUNGI_DEAL_H
#define RUNGI_DEAL_H

#include "rung/cluster.h"
#include "cluster/shares.h"

typedef struct rungi_deal {
    rung_cluster_operand operand;
    const rung_cluster_grid *grid;
    int64_t rows, cols;
    int64_t row_parts, col_parts, row_chunks, col_chunks, hands;
} rungi_deal;

rungi_deal rungi_deal_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                         rung_cluster_operand operand);

/* What that rank's parts and hand are; false if it has nothing to do. */
typedef struct rungi_seat {
    int64_t row_part, col_part, hand;
} rungi_seat;

int rungi_deal_seat(const rungi_deal *deal, int64_t rank, rungi_seat *seat);

/* All that the hands of one part have together. */
rungi_rectangle rungi_deal_part(const rungi_deal *deal, rungi_seat seat);

/* A seat's piece of chunk `index` of its part; `offset` is not set. */
rung_cluster_piece rungi_deal_piece(const rungi_deal *deal, rungi_seat seat, int64_t index);

/* Some rows of some columns that lie in one rank's share, each `stride` elements behind the one before. */
typedef struct rungi_patch {
    rungi_rectangle at; /* in the whole matrix */
    int64_t rank;
    int64_t chunk;  /* of its share's, and ... */
    int64_t offset; /* ... elements from where that begins */
    int64_t stride;
} rungi_patch;

typedef void (*rungi_patch_function)(void *user, const rungi_patch *patch);

/* All patches of a rectangle, or those in one rank's share (`only`, -1: all): in the same order on every rank. */
void rungi_deal_visit(const rungi_deal *deal, rungi_rectangle of, int64_t only, rungi_patch_function visit, void *user);

#endif /* RUNGI_DEAL_H */
