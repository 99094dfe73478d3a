/* SPDX-License-Identifier: Apache-2.0 */
/* shares.h - who holds and who computes what of a multiply that many ranks share.
 *
 * Ranks stand in a grid of pm x pn x pk. Rank (i, j, l) multiplies the block of A in rows i and depth l by the block
 * of B in depth l and columns j; the pk ranks of one (i, j) add up what they have. Nobody holds a whole block before:
 *
 *     A   row chunks (sm of them) of block (i, l), each dealt out to the pn ranks that need it
 *     B   column chunks (sn) of block (l, j), each dealt out to the pm ranks that need it
 *     C   blocks of one row chunk and one column chunk, each dealt out to the pk ranks that sum it
 *
 * A chunk is dense and row-major, and a deal is a range of its elements: so what is gathered comes in where it is
 * used, no two shares differ by more than an element, and all of this is arithmetic that any rank can do for any
 * other. What is predicted (grid.c) and what is sent (mpi/) is counted by these functions alone. */
#ifndef RUNGI_SHARES_H
#define RUNGI_SHARES_H

#include "core/checked.h"
#include "core/sum_type.h"
#include "rung/cluster.h"

/* Returns the type of the sums of C, in which partial results are sent. */
static inline rung_type rungi_sum_type_of(const rung_cluster_problem *cluster)
{
    return rung_accumulator_type(cluster->a_type, cluster->b_type, cluster->c_type);
}

/* Return the bytes of an element of A and B, whose types are equal in this version, and of a sum. */
static inline int64_t rungi_in_bytes(const rung_cluster_problem *cluster)
{
    return rung_type_size(cluster->a_type);
}

static inline int64_t rungi_sum_bytes(const rung_cluster_problem *cluster)
{
    return rung_type_size(rungi_sum_type_of(cluster));
}

/* A rank's place; one that has nothing to do has none. */
typedef struct rungi_place {
    int64_t i, j, l;
} rungi_place;

static inline int64_t rungi_grid_ranks(const rung_cluster_grid *grid)
{
    return grid->pm * grid->pn * grid->pk;
}

/* Those that sum one C are neighbours: that is most of what is sent where it is sent at all. */
static inline rungi_place rungi_place_of(const rung_cluster_grid *grid, int64_t rank)
{
    return (rungi_place){.i = rank / grid->pk / grid->pn, .j = rank / grid->pk % grid->pn, .l = rank % grid->pk};
}

static inline int64_t rungi_rank_at(const rung_cluster_grid *grid, rungi_place place)
{
    return (place.i * grid->pn + place.j) * grid->pk + place.l;
}

/* A rectangle of a matrix. */
typedef struct rungi_rectangle {
    int64_t row, col, rows, cols;
} rungi_rectangle;

/* Chunk s of A and t of B that a rank multiplies, and its block of C, in the whole matrices. */
static inline rungi_rectangle rungi_chunk_a(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                            rungi_place at, int64_t s)
{
    int64_t first = rungi_part_start(cluster->m, grid->pm, at.i), rows = rungi_part_size(cluster->m, grid->pm, at.i);
    return (rungi_rectangle){first + rungi_part_start(rows, grid->a_chunks, s),
                             rungi_part_start(cluster->k, grid->pk, at.l), rungi_part_size(rows, grid->a_chunks, s),
                             rungi_part_size(cluster->k, grid->pk, at.l)};
}

static inline rungi_rectangle rungi_chunk_b(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                            rungi_place at, int64_t t)
{
    int64_t first = rungi_part_start(cluster->n, grid->pn, at.j), cols = rungi_part_size(cluster->n, grid->pn, at.j);
    return (rungi_rectangle){rungi_part_start(cluster->k, grid->pk, at.l),
                             first + rungi_part_start(cols, grid->b_chunks, t),
                             rungi_part_size(cluster->k, grid->pk, at.l), rungi_part_size(cols, grid->b_chunks, t)};
}

static inline rungi_rectangle rungi_chunk_c(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                            rungi_place at, int64_t s, int64_t t)
{
    rungi_rectangle a = rungi_chunk_a(cluster, grid, at, s), b = rungi_chunk_b(cluster, grid, at, t);
    return (rungi_rectangle){a.row, b.col, a.rows, b.cols};
}

static inline int64_t rungi_elements(rungi_rectangle of)
{
    return of.rows * of.cols;
}

/* Chunks and blocks' sums that are on their way at a time. Two chunks: one more only takes bandwidth from the one that
 * is needed first. Two blocks: the sums of one go out while the next is multiplied. */
enum { RUNGI_GATHERS_UNDER_WAY = 2, RUNGI_SUMS_UNDER_WAY = 2 };

/* What the sums of a block of so many elements need: this rank's summand, and those of the others to its own piece. */
static inline int64_t rungi_sums_elements(const rung_cluster_grid *grid, int64_t block)
{
    return block + (grid->pk - 1) * (block / grid->pk + 1);
}

/* The order in which chunks come in and blocks of C are multiplied: whenever a chunk has come, all blocks that it
 * completes. Chunks of A and B alternate, so that after a share x of each there is x * x of the work to do, and the
 * processor soon has more than the network brings. */
typedef struct rungi_arrival {
    int is_b;
    int64_t index;  /* of the chunk */
    int64_t before; /* chunks of the other operand that are there: blocks to multiply */
} rungi_arrival;

/* Arrival number `number` of sm + sn. */
static inline rungi_arrival rungi_arrival_at(const rung_cluster_grid *grid, int64_t number)
{
    int64_t a = 0, b = 0;
    for (int64_t i = 0;; i++) {
        int is_b = a > 0 && (a == grid->a_chunks || (b < grid->b_chunks && b * grid->a_chunks < a * grid->b_chunks));
        rungi_arrival next = {.is_b = is_b, .index = is_b ? b : a, .before = is_b ? a : b};
        if (i == number)
            return next;
        *(is_b ? &b : &a) += 1;
    }
}

/* Read a caller's problem or grid and check it. (grid_check.c) */
rung_status rungi_cluster_read(const rung_cluster_problem *given, rung_cluster_problem *cluster);
rung_status rungi_grid_read(const rung_cluster_problem *cluster, const rung_cluster_grid *given,
                            rung_cluster_grid *grid);

/* Both, for the functions that take both. */
rung_status rungi_plan_read(const rung_cluster_problem *given, const rung_cluster_grid *given_grid,
                            rung_cluster_problem *cluster, rung_cluster_grid *grid);

/* Check what was read. */
rung_status rungi_cluster_check(const rung_cluster_problem *cluster);
rung_status rungi_grid_check(const rung_cluster_problem *cluster, const rung_cluster_grid *grid);

/* Bytes, as in rung_cluster_cost, of what was checked. */
int64_t rungi_grid_memory(const rung_cluster_problem *cluster, const rung_cluster_grid *grid);

/* rung_cluster_grid_predict of what was checked. */
rung_cluster_prediction rungi_predict(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                      const rung_cluster_speed *speed);

#endif /* RUNGI_SHARES_H */
