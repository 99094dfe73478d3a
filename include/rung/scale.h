/* SPDX-License-Identifier: Apache-2.0 */
/* scale.h - matrix multiplication beyond one device and its memory: librung-scale.
 *
 * Most multiplies fit one device and need none of this: rung.h is enough. */
#ifndef RUNG_SCALE_H
#define RUNG_SCALE_H

#include "rung/rung.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Many ranks -------------------------------------------------------------- */

/* What a multiply on many ranks costs, and how they should share it. None of this needs MPI or the machines;
 * rung/mpi.h does the work, by the same arithmetic. */
typedef struct rung_cluster {
    int64_t      ranks;
    int64_t      m, n, k;
    rung_product product; /* elements of A and B go as they are, those of C as sums */
    double       idle;    /* the share of ranks that may have nothing to do, 0.06: where ranks do not divide well,
                           * fewer have less to send */
    int64_t      memory;  /* bytes that a rank has for its shares and for its work; 0: enough */
    double       flops, bandwidth; /* a rank's, a second, to send and to multiply in the least time; 0: not known, and
                                    * the fewest bytes are best */
} rung_cluster;

/* Ranks as a box: each multiplies one of pm parts of m by one of pn parts of n along one of pk parts of k; ranks from
 * pm * pn * pk on have nothing to do. Its part of A comes in sm pieces and its part of B in sn, so that it
 * multiplies what is there while the rest is on its way. */
typedef struct rung_grid {
    int64_t pm, pn, pk;
    int64_t sm, sn;
} rung_grid;

/* The grid with the fewest bytes received by its busiest rank, or the least time; RUNG_NO_MEMORY where none fits. */
RUNG_API rung_status rung_grid_choose(const rung_cluster *cluster, rung_grid *grid);

typedef struct rung_grid_cost {
    int64_t received; /* bytes, by the rank that receives most, where each begins with its share of A and B and
                       * ends with one of C */
    double  bound;    /* which no way of sharing goes below, of such a start and end and any memory (Al Daas,
                       * Ballard, Grigori, Kumar, Rouse 2022, for words of several sizes) */
    int64_t memory;   /* bytes, of the rank that needs most: shares of A, B and C and all it works in */
    double  flops;    /* of the rank that has most to multiply */
    int64_t messages; /* received by the rank that gets most */
} rung_grid_cost;

RUNG_API rung_status rung_grid_count(const rung_cluster *cluster, const rung_grid *grid, rung_grid_cost *cost);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_SCALE_H */
