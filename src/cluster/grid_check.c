/* SPDX-License-Identifier: Apache-2.0 */
/* grid_check.c - what may be asked of a cluster and a grid, and the memory that a rank of it needs. A file of its own:
 * librung-cluster-mpi compiles it too, since it sees only the public names of librung-cluster. */
#include <stdbool.h>

#include "cluster/shares.h"
#include "core/by_size.h"
#include "core/checked.h"

/* Chunks of an operand: far more than is useful, so that loops over all of them end. */
enum { CHUNKS_MAX = 1024 };

static bool fits(int64_t rows, int64_t cols)
{
    int64_t elements, bytes;
    return rungi_multiply(rows, cols, &elements) && rungi_multiply(elements, 64, &bytes);
}

/* Below one a second nothing would come to an end that a clock can count. */
static bool is_speed(double speed)
{
    return speed == 0.0 || speed >= 1.0;
}

rung_status rungi_cluster_check(const rung_cluster_problem *cluster)
{
    if (cluster->ranks < 1 || cluster->ranks > INT32_MAX)
        return rung_error_set(RUNG_STATUS_INVALID, "the number of ranks is %lld; it must be 1 to 2^31 - 1",
                              (long long)cluster->ranks);
    if (cluster->m < 0 || cluster->n < 0 || cluster->k < 0)
        return rung_error_set(RUNG_STATUS_INVALID, "m, n and k are %lld, %lld and %lld; sizes must not be negative",
                              (long long)cluster->m, (long long)cluster->n, (long long)cluster->k);
    if (!fits(cluster->m, cluster->k) || !fits(cluster->k, cluster->n) || !fits(cluster->m, cluster->n))
        return rung_error_set(RUNG_STATUS_TOO_LARGE,
                              "matrices of %lld x %lld x %lld have more bytes than 64 bits count",
                              (long long)cluster->m, (long long)cluster->n, (long long)cluster->k);
    if (rungi_sum_type_of(cluster) == RUNG_TYPE_NONE)
        return rungi_refuse_types(cluster->a_type, cluster->b_type, cluster->c_type);
    if (!(cluster->max_idle >= 0.0 && cluster->max_idle < 1.0))
        return rung_error_set(RUNG_STATUS_INVALID, "max_idle is %g; it must be at least 0 and less than 1",
                              cluster->max_idle);
    if (!is_speed(cluster->flops_per_second) || !is_speed(cluster->bytes_per_second))
        return rung_error_set(RUNG_STATUS_INVALID,
                              "flops_per_second is %g and bandwidth is %g; each must be at least 1, or 0 (unknown)",
                              cluster->flops_per_second, cluster->bytes_per_second);
    if (cluster->memory_bytes < 0)
        return rung_error_set(RUNG_STATUS_INVALID, "memory_bytes is %lld; it must not be negative (0: unlimited)",
                              (long long)cluster->memory_bytes);
    return RUNG_OK;
}

static bool is_box(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    int64_t ranks;
    return grid->pm > 0 && grid->pn > 0 && grid->pk > 0 && rungi_multiply(grid->pm, grid->pn, &ranks) &&
           rungi_multiply(ranks, grid->pk, &ranks) && ranks <= cluster->ranks;
}

rung_status rungi_grid_check(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    rung_status status = rungi_cluster_check(cluster);
    if (status != RUNG_OK)
        return status;
    if (!is_box(cluster, grid))
        return rung_error_set(RUNG_STATUS_INVALID,
                              "grid %lld x %lld x %lld does not fit %lld ranks; its sizes must be at least 1 and their "
                              "product at most the number of ranks",
                              (long long)grid->pm, (long long)grid->pn, (long long)grid->pk, (long long)cluster->ranks);
    if (grid->a_chunks < 1 || grid->a_chunks > CHUNKS_MAX || grid->b_chunks < 1 || grid->b_chunks > CHUNKS_MAX)
        return rung_error_set(RUNG_STATUS_INVALID, "a_chunks is %lld and b_chunks is %lld; each must be 1 to %d",
                              (long long)grid->a_chunks, (long long)grid->b_chunks, CHUNKS_MAX);
    return RUNG_OK;
}

rung_status rungi_cluster_read(const rung_cluster_problem *given, rung_cluster_problem *cluster)
{
    rung_status status = rungi_struct_read(given, cluster, sizeof *cluster, "problem", "rung_cluster_problem_of");
    return status == RUNG_OK ? rungi_cluster_check(cluster) : status;
}

rung_status rungi_grid_read(const rung_cluster_problem *cluster, const rung_cluster_grid *given,
                            rung_cluster_grid *grid)
{
    rung_status status = rungi_struct_read(given, grid, sizeof *grid, "grid", "rung_cluster_grid_of");
    return status == RUNG_OK ? rungi_grid_check(cluster, grid) : status;
}

rung_status rungi_plan_read(const rung_cluster_problem *given, const rung_cluster_grid *given_grid,
                            rung_cluster_problem *cluster, rung_cluster_grid *grid)
{
    rung_status status = rungi_cluster_read(given, cluster);
    return status == RUNG_OK ? rungi_grid_read(cluster, given_grid, grid) : status;
}

/* The most that a rank has of what it shares in so many chunks: of each its part, rounded up. */
static int64_t most_own(int64_t elements, int64_t chunks, int64_t ranks)
{
    return (elements + chunks * (ranks - 1)) / ranks;
}

/* Rounded up wherever ranks differ, which is by some elements: so it holds for each of them, and costs nothing to know. */
int64_t rungi_grid_memory(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    int64_t in = rungi_in_bytes(cluster), sum = rungi_sum_bytes(cluster);
    int64_t m = rungi_divide_up(cluster->m, grid->pm), n = rungi_divide_up(cluster->n, grid->pn);
    int64_t k = rungi_divide_up(cluster->k, grid->pk);
    int64_t a = most_own(m * k, grid->a_chunks, grid->pn) + (grid->pn > 1 ? m * k : 0);
    int64_t b = most_own(k * n, grid->b_chunks, grid->pm) + (grid->pm > 1 ? k * n : 0);
    int64_t c = most_own(m * n, grid->a_chunks * grid->b_chunks, grid->pk);
    if (grid->pk > 1)
        c += RUNGI_SUMS_UNDER_WAY *
             rungi_sums_elements(grid, rungi_divide_up(m, grid->a_chunks) * rungi_divide_up(n, grid->b_chunks));
    return (a + b) * in + c * sum;
}
