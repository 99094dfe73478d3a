/* SPDX-License-Identifier: Apache-2.0 */
/* shares.c - public functions that return which elements of A, B and C a rank holds. operand_partition.c has the
 * arithmetic; librung-cluster-mpi compiles that file too. */
#include "base/try.h"
#include "cluster/operand_partition.h"

/* Checks the arguments and partitions the operand. The partition points to *grid. */
static rung_status read_partition(const rung_cluster_problem *problem, const rung_cluster_grid *given_grid,
                                  int64_t rank, rung_cluster_operand operand, rung_cluster_grid *grid,
                                  rungi_partition *partition)
{
    rung_cluster_problem cluster;
    if (operand != RUNG_CLUSTER_OPERAND_A && operand != RUNG_CLUSTER_OPERAND_B && operand != RUNG_CLUSTER_OPERAND_C)
        return rungi_invalid("operand is %d; see rung_cluster_operand", (int)operand);
    TRY(rungi_cluster_problem_grid_read(problem, given_grid, &cluster, grid));
    *partition = rungi_partition_of(&cluster, grid, operand, rank);
    return RUNG_OK;
}

rung_status rung_cluster_share_piece(const rung_cluster_problem *problem, const rung_cluster_grid *grid, int64_t rank,
                                     rung_cluster_operand operand, int64_t index, rung_cluster_piece *piece)
{
    rung_cluster_grid checked_grid;
    rungi_partition partition;
    *piece = (rung_cluster_piece){0};
    TRY(read_partition(problem, grid, rank, operand, &checked_grid, &partition));
    if (partition.is_idle || index < 0 || index >= partition.chunks)
        return rungi_fail(RUNG_STATUS_NOT_FOUND, "rank %lld has no piece %lld of %c", (long long)rank, (long long)index,
                          "ABC"[operand]);
    *piece = rungi_partition_piece(&partition, index);
    for (int64_t i = 0; i < index; i++)
        piece->offset += rungi_partition_piece(&partition, i).count;
    return RUNG_OK;
}

int64_t rung_cluster_share_elements(const rung_cluster_problem *problem, const rung_cluster_grid *grid, int64_t rank,
                                    rung_cluster_operand operand)
{
    rung_cluster_grid checked_grid;
    rungi_partition partition;
    int64_t elements = 0;
    if (read_partition(problem, grid, rank, operand, &checked_grid, &partition) != RUNG_OK || partition.is_idle)
        return 0;
    for (int64_t i = 0; i < partition.chunks; i++)
        elements += rungi_partition_piece(&partition, i).count;
    return elements;
}
