/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - a matrix from the caller's layout into shares, or from shares into the caller's layout.
 *
 * Each rank packs what leaves it, a message a rank, in an order that both ends know: block by block of the layout, patch
 * by patch of the deal, row by row. What stays is copied once. */
#ifndef RUNGI_EXCHANGE_H
#define RUNGI_EXCHANGE_H

#include "scale/mpi/deal.h"
#include "scale/mpi/layout.h"
#include "scale/mpi/schedule.h"
#include "scale/mpi/team.h"

typedef struct rungi_route {
    rungi_team         *team;
    const rungi_layout *layout;
    rungi_deal          deal;
    int64_t             size;         /* bytes of an element that goes */
    int64_t             message_bytes;
    int64_t            *of_blocks;    /* elements of this rank's blocks that are in each rank's share, */
    int64_t            *of_share;     /* and of its share that are in each rank's blocks; its own in neither */
    int64_t            *chunk_starts; /* of its share, in elements */
    int64_t             blocks_bytes, share_bytes; /* of all of those: what has to be packed at either end */
    int64_t             received;     /* bytes, for the caller */
} rungi_route;

/* Counts what goes where, and takes no more memory than that needs. */
rung_status rungi_route_open(rungi_team *team, const rungi_layout *layout, const rung_cluster *cluster,
                             const rung_grid *grid, rung_mpi_operand operand, int64_t size, rungi_route *route);
void        rungi_route_close(rungi_route *route);

/* From the layout into this rank's share; `out` has room for blocks_bytes, `in` for share_bytes. */
rung_status rungi_route_gather(rungi_route *route, char *out, char *in, char *share);

/* From this rank's share, of sums, into the layout: C = alpha * sums + beta * C there. `out` has room for share_bytes,
 * `in` for blocks_bytes. */
typedef struct rungi_scaling {
    rung_type sum;
    double    alpha, beta;
} rungi_scaling;

rung_status rungi_route_return(rungi_route *route, char *out, char *in, const char *share, rungi_scaling scaling);

#endif /* RUNGI_EXCHANGE_H */
