/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - the grid of ranks that has least to send, what it costs, and the least that any could.
 *
 * A rank of a grid pm x pn x pk receives the three faces of its box of m x n x k, less what it holds of them before
 * (A, B) or after (C). All boxes of as many ranks have the same volume: the best is the one with the smallest surface,
 * a cube wherever the problem is thick enough. Ranks rarely divide into one, so a few fewer are tried too. */
#include <math.h>
#include <stdbool.h>

#include "cluster/shares.h"
#include "core/by_size.h"
#include "core/checked.h"

enum {
    STEPS = 8,        /* pieces in which an operand comes in: more hide more, and cost messages */
    STEP_LINES = 512, /* rows or columns of a piece that a kernel still multiplies well */
    CANDIDATES = 16,  /* that are looked at more closely where speeds are known */
    FEWER_MOST = 64,  /* ranks that are left out where memory is short */
};

/* Two grids whose bytes differ by less are as good: then more ranks win. */
static const double as_good = 1.002;

/* ---- The bound -------------------------------------------------------------------------------- */

/* A rank that does its part of the multiplications touches x of A, y of B and z of C with x y z >= (mnk / P)^2
 * (Loomis and Whitney) and at least a P-th of each; it holds a P-th of each. The least sum of bytes has all
 * three alike, but for those that the second condition holds up. */
static double bound_of(const rung_cluster_problem *cluster)
{
    double ranks = (double)cluster->ranks, m = (double)cluster->m, n = (double)cluster->n, k = (double)cluster->k;
    double in = (double)rungi_in_bytes(cluster), sum = (double)rungi_sum_bytes(cluster);
    double held[3] = {in * m * k / ranks, in * k * n / ranks, sum * m * n / ranks}; /* bytes */
    double product = in * in * sum * pow(m * n * k / ranks, 2.0), total = 0.0;
    bool is_held[3] = {false};
    if (product == 0.0)
        return 0.0;
    for (int count = 3; count > 0;) {
        double each = pow(product, 1.0 / count);
        int up = 0;
        while (up < 3 && (is_held[up] || held[up] <= each))
            up++;
        if (up == 3)
            return fmax(total + count * each - held[0] - held[1] - held[2], 0.0);
        is_held[up] = true;
        product /= held[up];
        total += held[up];
        count--;
    }
    return fmax(total - held[0] - held[1] - held[2], 0.0);
}

/* ---- Counting --------------------------------------------------------------------------------- */

typedef struct counts {
    int64_t received, messages;
    double flops;
} counts_t;

/* A chunk that `ranks` hold a piece each of and all of them need. */
static void count_gather(int64_t elements, int64_t ranks, int64_t index, int64_t size, counts_t *counts)
{
    int64_t own = rungi_part_size(elements, ranks, index);
    counts->received += (elements - own) * size;
    counts->messages += ranks - 1;
}

/* A block that all of them have a summand of and each needs a piece of. */
static void count_sums(int64_t elements, int64_t ranks, int64_t index, int64_t size, counts_t *counts)
{
    int64_t own = rungi_part_size(elements, ranks, index);
    counts->received += own * (ranks - 1) * size;
    counts->messages += ranks - 1;
}

static counts_t count_rank(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, rungi_place at)
{
    int64_t in = rungi_in_bytes(cluster), sum = rungi_sum_bytes(cluster);
    counts_t counts = {0};
    for (int64_t s = 0; s < grid->a_chunks; s++)
        count_gather(rungi_elements(rungi_chunk_a(cluster, grid, at, s)), grid->pn, at.j, in, &counts);
    for (int64_t t = 0; t < grid->b_chunks; t++)
        count_gather(rungi_elements(rungi_chunk_b(cluster, grid, at, t)), grid->pm, at.i, in, &counts);
    for (int64_t s = 0; s < grid->a_chunks; s++)
        for (int64_t t = 0; t < grid->b_chunks; t++)
            count_sums(rungi_elements(rungi_chunk_c(cluster, grid, at, s, t)), grid->pk, at.l, sum, &counts);
    counts.flops = 2.0 * (double)rungi_part_size(cluster->m, grid->pm, at.i) *
                   (double)rungi_part_size(cluster->n, grid->pn, at.j) *
                   (double)rungi_part_size(cluster->k, grid->pk, at.l);
    return counts;
}

static rung_cluster_cost count_all(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    rung_cluster_cost cost = rung_cluster_cost_default();
    for (int64_t rank = 0; rank < rungi_grid_ranks(grid); rank++) {
        counts_t counts = count_rank(cluster, grid, rungi_place_of(grid, rank));
        cost.received_bytes = rungi_larger(counts.received, cost.received_bytes);
        cost.messages = rungi_larger(counts.messages, cost.messages);
        cost.flops = fmax(counts.flops, cost.flops);
    }
    cost.memory_bytes = rungi_grid_memory(cluster, grid);
    cost.bound_bytes = bound_of(cluster);
    return cost;
}

rung_status rung_cluster_grid_cost(const rung_cluster_problem *problem, const rung_cluster_grid *grid,
                                   rung_cluster_cost *cost)
{
    rung_cluster_problem cluster;
    rung_cluster_grid used;
    rung_cluster_cost counted = rung_cluster_cost_default();
    rung_status status = rungi_struct_check(cost, "cost", "rung_cluster_cost_default");
    if (status != RUNG_OK)
        return status;
    status = rungi_plan_read(problem, grid, &cluster, &used);
    if (status == RUNG_OK)
        counted = count_all(&cluster, &used);
    rungi_struct_write(&counted, sizeof counted, cost);
    return status;
}

/* ---- Choosing --------------------------------------------------------------------------------- */

static bool is_known(const rung_cluster_problem *cluster)
{
    return cluster->flops_per_second > 0.0 && cluster->bytes_per_second > 0.0;
}

/* How many pieces, where it comes from others at all. */
static int64_t steps_of(int64_t lines, int64_t ranks)
{
    if (ranks == 1)
        return 1;
    return rungi_larger(1, rungi_smaller(STEPS, lines / STEP_LINES));
}

/* A rank's columns are also what its sums are cut by, if nothing else cuts them. */
static void choose_steps(const rung_cluster_problem *cluster, rung_cluster_grid *grid)
{
    grid->a_chunks = steps_of(cluster->m / grid->pm, grid->pn);
    grid->b_chunks = steps_of(cluster->n / grid->pn, grid->pm);
    if (grid->pk > 1 && grid->a_chunks * grid->b_chunks == 1)
        grid->b_chunks = steps_of(cluster->n / grid->pn, grid->pk);
}

/* Of the rank in the corner where parts are largest, without their pieces: search looks at thousands of grids. */
static counts_t estimate(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    int64_t in = rungi_in_bytes(cluster), sum = rungi_sum_bytes(cluster);
    int64_t m = rungi_divide_up(cluster->m, grid->pm), n = rungi_divide_up(cluster->n, grid->pn);
    int64_t k = rungi_divide_up(cluster->k, grid->pk);
    counts_t counts = {.flops = 2.0 * (double)m * (double)n * (double)k};
    count_gather(m * k, grid->pn, grid->pn - 1, in, &counts);
    count_gather(k * n, grid->pm, grid->pm - 1, in, &counts);
    count_sums(m * n, grid->pk, grid->pk - 1, sum, &counts);
    return counts;
}

/* What is compared: seconds where the machine is known, a part of the shorter of the two staying visible; else bytes. */
static double score_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, const counts_t *counts)
{
    double handicap = rungi_grid_ranks(grid) < cluster->ranks ? as_good : 1.0;
    if (!is_known(cluster))
        return (double)counts->received * handicap;
    double multiplying = counts->flops / cluster->flops_per_second,
           receiving = (double)counts->received / cluster->bytes_per_second;
    return (fmax(multiplying, receiving) + fmin(multiplying, receiving) / STEPS) * handicap;
}

typedef struct candidate {
    rung_cluster_grid grid;
    double score;
} candidate_t;

typedef struct search {
    const rung_cluster_problem *cluster;
    candidate_t best[CANDIDATES]; /* the first is the best */
    int count;
    int64_t least_memory; /* of those that did not fit */
} search_t;

/* Of those that send as much, the one that adds least: sums cost memory and time besides. */
static bool is_better(const candidate_t *one, const candidate_t *other)
{
    return one->score != other->score ? one->score < other->score : one->grid.pk < other->grid.pk;
}

static void keep(search_t *search, candidate_t found)
{
    int place = search->count < CANDIDATES ? search->count++ : CANDIDATES - 1;
    if (place == CANDIDATES - 1 && search->best[place].score > 0.0 && !is_better(&found, &search->best[place]))
        return;
    for (; place > 0 && is_better(&found, &search->best[place - 1]); place--)
        search->best[place] = search->best[place - 1];
    search->best[place] = found;
}

static void try_grid(search_t *search, int64_t pm, int64_t pn, int64_t pk)
{
    const rung_cluster_problem *cluster = search->cluster;
    rung_cluster_grid grid = rung_cluster_grid_of(pm, pn, pk);
    if ((pm > 1 && pm > cluster->m) || (pn > 1 && pn > cluster->n) || (pk > 1 && pk > cluster->k))
        return;
    choose_steps(cluster, &grid);
    int64_t memory = rungi_grid_memory(cluster, &grid);
    if (cluster->memory_bytes > 0 && memory > cluster->memory_bytes) {
        if (search->least_memory == 0 || memory < search->least_memory)
            search->least_memory = memory;
        return;
    }
    counts_t counts = estimate(cluster, &grid);
    keep(search, (candidate_t){.grid = grid, .score = score_of(cluster, &grid, &counts)});
}

/* Grids that send as much differ in when: of the best few, the one whose schedule is done first. */
static rung_cluster_grid first_done(const search_t *search)
{
    rung_cluster_speed speed = rung_cluster_speed_default();
    speed.flops_per_second = search->cluster->flops_per_second;
    speed.bytes_per_second = search->cluster->bytes_per_second;
    rung_cluster_grid best = search->best[0].grid;
    double least = rungi_predict(search->cluster, &best, &speed).seconds;
    for (int i = 1; i < search->count; i++) {
        double seconds = rungi_predict(search->cluster, &search->best[i].grid, &speed).seconds;
        if (seconds < 0.995 * least) { /* or the fewer bytes */
            least = seconds;
            best = search->best[i].grid;
        }
    }
    return best;
}

/* With that many along m. */
static void try_rows(search_t *search, int64_t pm, int64_t rest)
{
    for (int64_t low = 1; low * low <= rest; low++) {
        if (rest % low != 0)
            continue;
        try_grid(search, pm, low, rest / low);
        if (low * low != rest)
            try_grid(search, pm, rest / low, low);
    }
}

/* All boxes of so many ranks. */
static void try_ranks(search_t *search, int64_t ranks)
{
    for (int64_t low = 1; low * low <= ranks; low++) {
        if (ranks % low != 0)
            continue;
        try_rows(search, low, ranks / low);
        if (low * low != ranks)
            try_rows(search, ranks / low, low);
    }
}

static rung_status choose(const rung_cluster_problem *cluster, rung_cluster_grid *grid)
{
    search_t search = {.cluster = cluster};
    int64_t least = cluster->ranks - (int64_t)(cluster->max_idle * (double)cluster->ranks);
    for (int64_t ranks = cluster->ranks; ranks >= least; ranks--)
        try_ranks(&search, ranks);
    /* A problem with fewer elements than ranks: as many as there is work for. Where memory is short, some fewer, since 12 that make
     * a box need less than 13 in a row; far fewer need more. */
    int64_t fewest = search.least_memory > 0 ? cluster->ranks - rungi_smaller(cluster->ranks / 4 + 1, FEWER_MOST) : 1;
    for (int64_t ranks = least - 1; ranks >= rungi_larger(fewest, 1) && search.count == 0; ranks--)
        try_ranks(&search, ranks);
    if (search.count == 0)
        return rung_error_set(RUNG_STATUS_NO_MEMORY,
                              "%lld x %lld x %lld on %lld ranks needs %lld bytes per rank, and a rank has "
                              "%lld; use more ranks",
                              (long long)cluster->m, (long long)cluster->n, (long long)cluster->k,
                              (long long)cluster->ranks, (long long)search.least_memory,
                              (long long)cluster->memory_bytes);
    *grid = is_known(cluster) ? first_done(&search) : search.best[0].grid;
    return RUNG_OK;
}

rung_status rung_cluster_grid_choose(const rung_cluster_problem *problem, rung_cluster_grid *grid)
{
    rung_cluster_problem cluster;
    rung_cluster_grid chosen = rung_cluster_grid_of(0, 0, 0);
    rung_status status = rungi_struct_check(grid, "grid", "rung_cluster_grid_of");
    if (status != RUNG_OK)
        return status;
    status = rungi_cluster_read(problem, &cluster);
    if (status == RUNG_OK)
        status = choose(&cluster, &chosen);
    rungi_struct_write(&chosen, sizeof chosen, grid);
    return status;
}
