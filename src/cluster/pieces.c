/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - which elements of A, B and C a rank holds, for callers. The arithmetic is in deal.c, which librung-cluster-mpi
 * compiles too. */
#include "cluster/deal.h"

rung_status rung_cluster_share_piece(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank, rung_cluster_operand operand,
                           int64_t index, rung_cluster_piece *piece)
{
    rung_status status = rungi_grid_check(cluster, grid);
    *piece = (rung_cluster_piece){0};
    if (status != RUNG_OK)
        return status;
    rungi_deal deal = rungi_deal_of(cluster, grid, operand);
    rungi_seat seat;
    if (rank < 0 || !rungi_deal_seat(&deal, rank, &seat) || index < 0 || index >= deal.row_chunks * deal.col_chunks)
        return rung_error_set(RUNG_STATUS_NOT_FOUND, "rank %lld has no piece %lld of that", (long long)rank, (long long)index);
    *piece = rungi_deal_piece(&deal, seat, index);
    for (int64_t i = 0; i < index; i++)
        piece->offset += rungi_deal_piece(&deal, seat, i).count;
    return RUNG_OK;
}

int64_t rung_cluster_share_elements(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank,
                                rung_cluster_operand operand)
{
    if (rungi_grid_check(cluster, grid) != RUNG_OK)
        return 0;
    rungi_deal deal = rungi_deal_of(cluster, grid, operand);
    rungi_seat seat;
    int64_t elements = 0;
    if (rank < 0 || !rungi_deal_seat(&deal, rank, &seat))
        return 0;
    for (int64_t i = 0; i < deal.row_chunks * deal.col_chunks; i++)
        elements += rungi_deal_piece(&deal, seat, i).count;
    return elements;
}
