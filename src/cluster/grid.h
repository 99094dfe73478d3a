/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - which rank of a grid holds and computes which part of a multiply.
 *
 * Ranks form a grid of pm x pn x pk. Rank (i, j, l) multiplies block (i, l) of A by block (l, j) of B. The pk ranks of one
 * (i, j) add their products. Before the multiply, no rank holds a whole block:
 *
 *     A   block (i, l) consists of a_chunks row chunks; the pn ranks that need a chunk hold equal parts of it
 *     B   block (l, j) consists of b_chunks column chunks; the pm ranks that need a chunk hold equal parts of it
 *     C   one block per row chunk and column chunk; the pk ranks that add it up hold equal parts of it
 *
 * A chunk is dense and row-major, and a part is a range of its elements. Gathered elements therefore arrive where they are
 * used, shares differ by at most one element per chunk, and every rank can compute the shares of every other rank. The
 * prediction (predict.c) and the messages (mpi/) use the same functions. */
#pragma once

#include "base/checked_arithmetic.h"
#include "base/unsupported_types.h"
#include "rung/cluster.h"

/* Returns the type of the sums of C, in which partial results are sent. */
static inline rung_type rungi_cluster_accumulator_type(const rung_cluster_problem *cluster)
{
    return rung_accumulator_type(cluster->a_type, cluster->b_type, cluster->c_type);
}

/* Return the bytes of an element of A and B, whose types are equal in this version, and of a sum. */
static inline int64_t rungi_cluster_input_element_bytes(const rung_cluster_problem *cluster)
{
    return rung_type_size(cluster->a_type);
}

static inline int64_t rungi_cluster_sum_element_bytes(const rung_cluster_problem *cluster)
{
    return rung_type_size(rungi_cluster_accumulator_type(cluster));
}

static inline int64_t rungi_grid_ranks(const rung_cluster_grid *grid)
{
    return grid->pm * grid->pn * grid->pk;
}

/* A rectangle of a matrix. */
typedef struct rungi_rectangle {
    int64_t row, col, rows, cols;
} rungi_rectangle;

static inline int64_t rungi_rectangle_elements(rungi_rectangle rectangle)
{
    return rectangle.rows * rectangle.cols;
}

/* Transfers in flight. Two gathers: a third one would only take bandwidth from the chunk that is needed first. Two
 * reductions: the sums of one block are sent while the next block is multiplied. */
enum { RUNGI_CLUSTER_GATHERS_IN_FLIGHT = 2, RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT = 2 };

/* Returns the elements that a reduction of a block needs: this rank's partial sums, and those that the other ranks send for
 * this rank's piece. */
static inline int64_t rungi_grid_reduction_elements(const rung_cluster_grid *grid, int64_t block)
{
    return block + (grid->pk - 1) * (block / grid->pk + 1);
}

/* One arrival of a chunk. After each arrival, all blocks of C that the chunk completes are multiplied. Chunks of A and B
 * alternate: a fraction x of the chunks allows x * x of the work, so the processor soon has more to do than the network. */
typedef struct rungi_arrival {
    int is_b;
    int64_t index;        /* of the chunk */
    int64_t other_chunks; /* chunks of the other operand that have arrived: blocks to multiply */
} rungi_arrival;

/* Returns arrival `number` of a_chunks + b_chunks. */
static inline rungi_arrival rungi_arrival_at(const rung_cluster_grid *grid, int64_t number)
{
    int64_t a = 0, b = 0;
    for (int64_t i = 0;; i++) {
        int is_b = a > 0 && (a == grid->a_chunks || (b < grid->b_chunks && b * grid->a_chunks < a * grid->b_chunks));
        rungi_arrival next = {.is_b = is_b, .index = is_b ? b : a, .other_chunks = is_b ? a : b};
        if (i == number)
            return next;
        *(is_b ? &b : &a) += 1;
    }
}

/* Read a caller's problem, or a grid for a checked problem, and check it. (grid_check.c) */
rung_status rungi_cluster_problem_read(const rung_cluster_problem *given, rung_cluster_problem *cluster);
rung_status rungi_grid_read(const rung_cluster_problem *cluster, const rung_cluster_grid *given,
                            rung_cluster_grid *grid);

/* Reads and checks both. */
rung_status rungi_cluster_problem_grid_read(const rung_cluster_problem *given, const rung_cluster_grid *given_grid,
                                            rung_cluster_problem *cluster, rung_cluster_grid *grid);

/* Checks a copied problem. */
rung_status rungi_cluster_problem_check(const rung_cluster_problem *cluster);

/* Returns rung_cluster_cost.memory_bytes of a checked grid. */
int64_t rungi_grid_memory(const rung_cluster_problem *cluster, const rung_cluster_grid *grid);

/* Predicts a checked problem and grid: see rung_cluster_grid_predict(). */
rung_cluster_prediction rungi_grid_predict(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                           const rung_cluster_speed *speed);
