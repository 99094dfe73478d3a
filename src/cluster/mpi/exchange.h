/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - a matrix from the caller's layout into shares, or from shares into the caller's layout.
 *
 * Each rank packs what leaves it, a message a rank, in an order that both ends know: block by block of the layout, patch
 * by patch of the deal, row by row. What stays is copied once. */
#ifndef RUNGI_EXCHANGE_H
#define RUNGI_EXCHANGE_H

#include "cluster/deal.h"
#include "cluster/mpi/layout.h"
#include "cluster/mpi/schedule.h"
#include "cluster/mpi/team.h"

/* What one end of a route has for each rank or gets from it: elements, and where its message begins, in bytes. */
typedef struct rungi_messages {
    int64_t *elements, *starts;
    int64_t bytes; /* of all */
} rungi_messages;

typedef struct rungi_route {
    rungi_team *team;
    const rungi_layout *layout;
    int64_t size;          /* bytes of an element that goes */
    int64_t message_bytes; /* at most */
    rungi_deal deal;
    rungi_messages of_blocks; /* elements of this rank's blocks that are in each rank's share, */
    rungi_messages of_share;  /* and of its share that are in each rank's blocks; its own in neither */
    int64_t *chunk_starts;    /* of its share, in elements */
    int64_t *packed;          /* elements to or from each rank, as a walk goes on */
    MPI_Request *requests;    /* of the messages under way, and the ranks they are from or to */
    int *peers;
    int64_t received; /* bytes, for the caller */
} rungi_route;

/* Of a route whose team, layout and sizes are set: counts what goes where, and takes all the memory that its way needs but
 * for the elements, so that ranks can agree that each has it before one sends. */
rung_status rungi_route_open(rungi_route *route, const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                             rung_cluster_operand operand);
void rungi_route_close(rungi_route *route);

/* From the layout into this rank's share; `out` has room for of_blocks.bytes, `in` for of_share.bytes. */
rung_status rungi_route_gather(rungi_route *route, char *out, char *in, char *share);

/* From this rank's share, of sums, into the layout: C = alpha * sums + beta * C there. `out` has room for of_share.bytes,
 * `in` for of_blocks.bytes. */
typedef struct rungi_scaling {
    rung_type sum;
    double alpha, beta;
} rungi_scaling;

rung_status rungi_route_return(rungi_route *route, char *out, char *in, const char *share, rungi_scaling scaling);

#endif /* RUNGI_EXCHANGE_H */
