/* SPDX-License-Identifier: Apache-2.0 */
/* grid_check.c - validates problems and grids, and computes the memory per rank. librung-cluster-mpi compiles this file too,
 * because it sees only the public names of librung-cluster. */
#include <stdbool.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "base/versioned_struct.h"
#include "cluster/grid.h"

/* Far more than is useful; bounds the loops over all chunks. */
enum { MAX_CHUNKS_PER_OPERAND = 1024 };

static bool fits_in_bytes(int64_t rows, int64_t cols)
{
    int64_t elements, bytes;
    return rungi_checked_multiply(rows, cols, &elements) && rungi_checked_multiply(elements, 64, &bytes);
}

/* Speeds below 1 per second would make predicted times overflow. */
static bool is_valid_speed(double speed)
{
    return speed == 0.0 || speed >= 1.0;
}

rung_status rungi_cluster_problem_check(const rung_cluster_problem *cluster)
{
    if (cluster->ranks < 1 || cluster->ranks > INT32_MAX)
        return rungi_invalid("the number of ranks is %lld; it must be 1 to 2^31 - 1", (long long)cluster->ranks);
    if (cluster->m < 0 || cluster->n < 0 || cluster->k < 0)
        return rungi_invalid("m, n and k are %lld, %lld and %lld; sizes must not be negative", (long long)cluster->m,
                             (long long)cluster->n, (long long)cluster->k);
    if (!fits_in_bytes(cluster->m, cluster->k) || !fits_in_bytes(cluster->k, cluster->n) ||
        !fits_in_bytes(cluster->m, cluster->n))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "matrices of %lld x %lld x %lld have more bytes than 64 bits count",
                          (long long)cluster->m, (long long)cluster->n, (long long)cluster->k);
    if (rungi_cluster_accumulator_type(cluster) == RUNG_TYPE_NONE)
        return rungi_fail_unsupported_types(cluster->a_type, cluster->b_type, cluster->c_type);
    TRY(rungi_check_equal_types(cluster->a_type, cluster->b_type));
    if (!(cluster->max_idle >= 0.0 && cluster->max_idle < 1.0))
        return rungi_invalid("max_idle is %g; it must be at least 0 and less than 1", cluster->max_idle);
    if (!is_valid_speed(cluster->flops_per_second) || !is_valid_speed(cluster->bytes_per_second))
        return rungi_invalid("flops_per_second is %g and bandwidth is %g; each must be at least 1, or 0 (unknown)",
                             cluster->flops_per_second, cluster->bytes_per_second);
    if (cluster->memory_bytes < 0)
        return rungi_invalid("memory_bytes is %lld; it must not be negative (0: unlimited)",
                             (long long)cluster->memory_bytes);
    return RUNG_OK;
}

static bool fits_ranks(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    int64_t ranks;
    return grid->pm > 0 && grid->pn > 0 && grid->pk > 0 && rungi_checked_multiply(grid->pm, grid->pn, &ranks) &&
           rungi_checked_multiply(ranks, grid->pk, &ranks) && ranks <= cluster->ranks;
}

rung_status rungi_grid_read(const rung_cluster_problem *cluster, const rung_cluster_grid *given,
                            rung_cluster_grid *grid)
{
    TRY(rungi_versioned_struct_read(given, grid, sizeof *grid, "grid", "rung_cluster_grid_of"));
    if (!fits_ranks(cluster, grid))
        return rungi_invalid("grid %lld x %lld x %lld does not fit %lld ranks; its sizes must be at least 1 and their "
                             "product at most the number of ranks",
                             (long long)grid->pm, (long long)grid->pn, (long long)grid->pk, (long long)cluster->ranks);
    if (grid->a_chunks < 1 || grid->a_chunks > MAX_CHUNKS_PER_OPERAND || grid->b_chunks < 1 ||
        grid->b_chunks > MAX_CHUNKS_PER_OPERAND)
        return rungi_invalid("a_chunks is %lld and b_chunks is %lld; each must be 1 to %d", (long long)grid->a_chunks,
                             (long long)grid->b_chunks, MAX_CHUNKS_PER_OPERAND);
    return RUNG_OK;
}

rung_status rungi_cluster_problem_read(const rung_cluster_problem *given, rung_cluster_problem *cluster)
{
    TRY(rungi_versioned_struct_read(given, cluster, sizeof *cluster, "problem", "rung_cluster_problem_of"));
    return rungi_cluster_problem_check(cluster);
}

rung_status rungi_cluster_problem_grid_read(const rung_cluster_problem *given, const rung_cluster_grid *given_grid,
                                            rung_cluster_problem *cluster, rung_cluster_grid *grid)
{
    TRY(rungi_cluster_problem_read(given, cluster));
    return rungi_grid_read(cluster, given_grid, grid);
}

/* Returns the maximum share of a rank: its part of each chunk, rounded up. */
static int64_t max_share_elements(int64_t elements, int64_t chunks, int64_t ranks)
{
    return (elements + chunks * (ranks - 1)) / ranks;
}

/* Rounds up where ranks differ by a few elements, so that the result holds for every rank. */
int64_t rungi_grid_memory(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    int64_t in = rungi_cluster_input_element_bytes(cluster), sum = rungi_cluster_sum_element_bytes(cluster);
    int64_t m = rungi_ceil_divide(cluster->m, grid->pm), n = rungi_ceil_divide(cluster->n, grid->pn);
    int64_t k = rungi_ceil_divide(cluster->k, grid->pk);
    int64_t a = max_share_elements(m * k, grid->a_chunks, grid->pn) + (grid->pn > 1 ? m * k : 0);
    int64_t b = max_share_elements(k * n, grid->b_chunks, grid->pm) + (grid->pm > 1 ? k * n : 0);
    int64_t c = max_share_elements(m * n, grid->a_chunks * grid->b_chunks, grid->pk);
    if (grid->pk > 1)
        c += RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT *
             rungi_grid_reduction_elements(grid,
                                           rungi_ceil_divide(m, grid->a_chunks) * rungi_ceil_divide(n, grid->b_chunks));
    return (a + b) * in + c * sum;
}
