/* SPDX-License-Identifier: Apache-2.0 */
/* grid_check.c - what may be asked of a cluster and a grid, and the memory that a rank of it needs. A file of its own:
 * librung-cluster-mpi compiles it too, since it sees only the public names of librung-cluster. */
#include <stdbool.h>

#include "core/checked.h"
#include "cluster/shares.h"

/* Pieces of an operand: far more than is ever of use, so that going through all of them has an end. */
enum { PIECES_MAX = 1024 };

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
        return rung_error_set(RUNG_STATUS_INVALID, "%lld ranks; there is one at least, and MPI counts them in an int",
                         (long long)cluster->ranks);
    if (cluster->m < 0 || cluster->n < 0 || cluster->k < 0)
        return rung_error_set(RUNG_STATUS_INVALID, "m, n and k are %lld, %lld and %lld; sizes are not negative", (long long)cluster->m,
                         (long long)cluster->n, (long long)cluster->k);
    if (!fits(cluster->m, cluster->k) || !fits(cluster->k, cluster->n) || !fits(cluster->m, cluster->n))
        return rung_error_set(RUNG_STATUS_TOO_LARGE, "matrices of %lld x %lld x %lld have more bytes than 64 bits count",
                         (long long)cluster->m, (long long)cluster->n, (long long)cluster->k);
    if (rung_product_sum(cluster->product) == RUNG_TYPE_NONE)
        return rung_error_set(RUNG_STATUS_INVALID, "%d is no product; rung_product_of has them", (int)cluster->product);
    if (!(cluster->idle >= 0.0 && cluster->idle < 1.0))
        return rung_error_set(RUNG_STATUS_INVALID, "the share of ranks that may be idle is %g; it is 0 to below 1", cluster->idle);
    if (!is_speed(cluster->flops) || !is_speed(cluster->bandwidth))
        return rung_error_set(RUNG_STATUS_INVALID, "%g FLOP/s and %g bytes a second are no speeds; they are 1 at least, and 0 stands for "
                         "not known", cluster->flops, cluster->bandwidth);
    if (cluster->memory < 0)
        return rung_error_set(RUNG_STATUS_INVALID, "a rank has %lld bytes of memory; 0 stands for enough", (long long)cluster->memory);
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
        return rung_error_set(RUNG_STATUS_INVALID, "a grid of %lld x %lld x %lld is none for %lld ranks", (long long)grid->pm,
                         (long long)grid->pn, (long long)grid->pk, (long long)cluster->ranks);
    if (grid->sm < 1 || grid->sm > PIECES_MAX || grid->sn < 1 || grid->sn > PIECES_MAX)
        return rung_error_set(RUNG_STATUS_INVALID, "a grid's parts of A and B come in %lld and %lld pieces; 1 to %d", (long long)grid->sm,
                         (long long)grid->sn, PIECES_MAX);
    return RUNG_OK;
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
    int64_t a = most_own(m * k, grid->sm, grid->pn) + (grid->pn > 1 ? m * k : 0);
    int64_t b = most_own(k * n, grid->sn, grid->pm) + (grid->pm > 1 ? k * n : 0);
    int64_t c = most_own(m * n, grid->sm * grid->sn, grid->pk);
    if (grid->pk > 1)
        c += RUNGI_SUMS_UNDER_WAY *
             rungi_sums_elements(grid, rungi_divide_up(m, grid->sm) * rungi_divide_up(n, grid->sn));
    return (a + b) * in + c * sum;
}
