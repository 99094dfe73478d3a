/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - which elements of A, B and C a rank holds, for callers. The arithmetic is in deal.c, which librung-cluster-mpi
 * compiles too. */
#include "cluster/deal.h"

static rung_status check_operand(rung_cluster_operand operand)
{
    if (operand == RUNG_CLUSTER_OPERAND_A || operand == RUNG_CLUSTER_OPERAND_B || operand == RUNG_CLUSTER_OPERAND_C)
        return RUNG_OK;
    return rung_error_set(RUNG_STATUS_INVALID, "operand is %d; see rung_cluster_operand", (int)operand);
}

rung_status rung_cluster_share_piece(const rung_cluster_problem *problem, const rung_cluster_grid *grid, int64_t rank,
                                     rung_cluster_operand operand, int64_t index, rung_cluster_piece *piece)
{
    rung_cluster_problem cluster;
    rung_cluster_grid used;
    rung_status status = check_operand(operand);
    if (status == RUNG_OK)
        status = rungi_plan_read(problem, grid, &cluster, &used);
    *piece = (rung_cluster_piece){0};
    if (status != RUNG_OK)
        return status;
    rungi_deal deal = rungi_deal_of(&cluster, &used, operand);
    rungi_seat seat;
    if (rank < 0 || !rungi_deal_seat(&deal, rank, &seat) || index < 0 || index >= deal.row_chunks * deal.col_chunks)
        return rung_error_set(RUNG_STATUS_NOT_FOUND, "rank %lld has no piece %lld of %c", (long long)rank,
                              (long long)index, "ABC"[operand]);
    *piece = rungi_deal_piece(&deal, seat, index);
    for (int64_t i = 0; i < index; i++)
        piece->offset += rungi_deal_piece(&deal, seat, i).count;
    return RUNG_OK;
}

int64_t rung_cluster_share_elements(const rung_cluster_problem *problem, const rung_cluster_grid *grid, int64_t rank,
                                    rung_cluster_operand operand)
{
    rung_cluster_problem cluster;
    rung_cluster_grid used;
    if (check_operand(operand) != RUNG_OK || rungi_plan_read(problem, grid, &cluster, &used) != RUNG_OK)
        return 0;
    rungi_deal deal = rungi_deal_of(&cluster, &used, operand);
    rungi_seat seat;
    int64_t elements = 0;
    if (rank < 0 || !rungi_deal_seat(&deal, rank, &seat))
        return 0;
    for (int64_t i = 0; i < deal.row_chunks * deal.col_chunks; i++)
        elements += rungi_deal_piece(&deal, seat, i).count;
    return elements;
}
