/* SPDX-License-Identifier: Apache-2.0 */
/* shares.c - public functions that return which elements of A, B and C a rank holds. operand_partition.c has the
 * arithmetic; librung-cluster-mpi compiles that file too. */
#include "cluster/operand_partition.h"

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
    rung_cluster_grid checked_grid;
    rung_status status = check_operand(operand);
    if (status == RUNG_OK)
        status = rungi_cluster_problem_grid_read(problem, grid, &cluster, &checked_grid);
    *piece = (rung_cluster_piece){0};
    if (status != RUNG_OK)
        return status;
    rungi_operand_partition partition = rungi_operand_partition_of(&cluster, &checked_grid, operand);
    rungi_operand_partition_coords coords;
    if (rank < 0 || !rungi_operand_partition_find_rank(&partition, rank, &coords) || index < 0 ||
        index >= partition.row_chunks * partition.col_chunks)
        return rung_error_set(RUNG_STATUS_NOT_FOUND, "rank %lld has no piece %lld of %c", (long long)rank,
                              (long long)index, "ABC"[operand]);
    *piece = rungi_operand_partition_piece(&partition, coords, index);
    for (int64_t i = 0; i < index; i++)
        piece->offset += rungi_operand_partition_piece(&partition, coords, i).count;
    return RUNG_OK;
}

int64_t rung_cluster_share_elements(const rung_cluster_problem *problem, const rung_cluster_grid *grid, int64_t rank,
                                    rung_cluster_operand operand)
{
    rung_cluster_problem cluster;
    rung_cluster_grid checked_grid;
    if (check_operand(operand) != RUNG_OK ||
        rungi_cluster_problem_grid_read(problem, grid, &cluster, &checked_grid) != RUNG_OK)
        return 0;
    rungi_operand_partition partition = rungi_operand_partition_of(&cluster, &checked_grid, operand);
    rungi_operand_partition_coords coords;
    int64_t elements = 0;
    if (rank < 0 || !rungi_operand_partition_find_rank(&partition, rank, &coords))
        return 0;
    for (int64_t i = 0; i < partition.row_chunks * partition.col_chunks; i++)
        elements += rungi_operand_partition_piece(&partition, coords, i).count;
    return elements;
}
