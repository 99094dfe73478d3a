/* SPDX-License-Identifier: Apache-2.0 */
/* grid_choose.c - chooses the grid with the least communication, computes its cost and the lower bound for every algorithm.
 *
 * A rank of a grid pm x pn x pk receives the three faces of its box of m x n x k, except for the parts that it holds before
 * (A, B) or after (C) the multiply. All boxes have the same volume, so the box with the smallest surface is best: a cube if
 * the problem is large enough in all three directions. Few rank counts allow a cube, so smaller counts are tried too. */
#include <math.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "base/versioned_struct.h"
#include "cluster/operand_partition.h"

enum {
    MAX_CHUNKS = 8,           /* per operand: more chunks overlap better and cost more messages */
    MIN_CHUNK_LINES = 512,    /* rows or columns that a kernel still multiplies efficiently */
    MAX_CANDIDATES = 16,      /* compared by predicted time if speeds are known */
    MAX_IDLE_FOR_MEMORY = 64, /* ranks that may stay idle if memory is short */
};

/* Grids whose scores differ by less than this factor count as equal; the grid with more ranks wins. */
static const double score_tolerance = 1.002;

/* ---- Lower bound -------------------------------------------------------------------------------- */

/* Returns the minimum of received bytes. A rank that does 1/P of the multiplications uses x elements of A, y of B and z of C
 * with x y z >= (mnk / P)^2 (Loomis and Whitney) and at least 1/P of each matrix; it already holds 1/P of each. The sum of
 * bytes is minimal if all three are equal, except for those raised by the second condition. */
static double lower_bound_bytes(const rung_cluster_problem *cluster)
{
    double ranks = (double)cluster->ranks, m = (double)cluster->m, n = (double)cluster->n, k = (double)cluster->k;
    double in = (double)rungi_cluster_input_element_bytes(cluster),
           sum = (double)rungi_cluster_sum_element_bytes(cluster);
    double held_bytes[3] = {in * m * k / ranks, in * k * n / ranks, sum * m * n / ranks}; /* bytes */
    double product = in * in * sum * pow(m * n * k / ranks, 2.0), total = 0.0;
    bool is_held[3] = {false};
    if (product == 0.0)
        return 0.0;
    for (int count = 3; count > 0;) {
        double each = pow(product, 1.0 / count);
        int up = 0;
        while (up < 3 && (is_held[up] || held_bytes[up] <= each))
            up++;
        if (up == 3)
            return fmax(total + count * each - held_bytes[0] - held_bytes[1] - held_bytes[2], 0.0);
        is_held[up] = true;
        product /= held_bytes[up];
        total += held_bytes[up];
        count--;
    }
    return fmax(total - held_bytes[0] - held_bytes[1] - held_bytes[2], 0.0);
}

/* ---- Counting --------------------------------------------------------------------------------- */

typedef struct rank_cost {
    int64_t received, messages;
    double flops;
} rank_cost_t;

/* Returns how many of `parts` parts of an extent have extent / parts + extra elements; extra is 0 or 1. */
static int64_t parts_of_size(int64_t extent, int64_t parts, int extra)
{
    return extra ? extent % parts : parts - extent % parts;
}

/* Adds the transfers of one operand: of A and B, a rank receives the elements that it does not hold; of C, it receives its own
 * piece from all other owners. The chunks differ by at most one row and one column, so they have at most four sizes. */
static void count_transfers(const rungi_partition *partition, int64_t element_bytes, rank_cost_t *cost_of_rank)
{
    const rungi_rectangle *part = &partition->part;
    int64_t row_chunks = partition->rows.chunks, col_chunks = partition->cols.chunks;
    cost_of_rank->messages += partition->chunks * (partition->owners - 1);
    for (int i = 0; i < 4; i++) {
        int extra_row = i / 2, extra_col = i % 2;
        int64_t chunks = parts_of_size(part->rows, row_chunks, extra_row) *
                         parts_of_size(part->cols, col_chunks, extra_col);
        if (chunks == 0)
            continue;
        int64_t elements = (part->rows / row_chunks + extra_row) * (part->cols / col_chunks + extra_col);
        int64_t own = rungi_part_size(elements, partition->owners, partition->owner);
        bool is_c = partition->operand == RUNG_CLUSTER_OPERAND_C;
        cost_of_rank->received += chunks * element_bytes * (is_c ? own * (partition->owners - 1) : elements - own);
    }
}

static rank_cost_t count_rank(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank)
{
    int64_t in = rungi_cluster_input_element_bytes(cluster), sum = rungi_cluster_sum_element_bytes(cluster);
    rungi_partition a = rungi_partition_of(cluster, grid, RUNG_CLUSTER_OPERAND_A, rank);
    rungi_partition b = rungi_partition_of(cluster, grid, RUNG_CLUSTER_OPERAND_B, rank);
    rungi_partition c = rungi_partition_of(cluster, grid, RUNG_CLUSTER_OPERAND_C, rank);
    rank_cost_t cost_of_rank = {.flops = 2.0 * (double)a.part.rows * (double)b.part.cols * (double)a.part.cols};
    count_transfers(&a, in, &cost_of_rank);
    count_transfers(&b, in, &cost_of_rank);
    count_transfers(&c, sum, &cost_of_rank);
    return cost_of_rank;
}

static rung_cluster_cost count_all(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    rung_cluster_cost cost = rung_cluster_cost_default();
    for (int64_t rank = 0; rank < rungi_grid_ranks(grid); rank++) {
        rank_cost_t cost_of_rank = count_rank(cluster, grid, rank);
        cost.received_bytes = rungi_max(cost_of_rank.received, cost.received_bytes);
        cost.messages = rungi_max(cost_of_rank.messages, cost.messages);
        cost.flops = fmax(cost_of_rank.flops, cost.flops);
    }
    cost.memory_bytes = rungi_grid_memory(cluster, grid);
    cost.bound_bytes = lower_bound_bytes(cluster);
    return cost;
}

rung_status rung_cluster_grid_cost(const rung_cluster_problem *problem, const rung_cluster_grid *grid,
                                   rung_cluster_cost *cost)
{
    rung_cluster_problem cluster;
    rung_cluster_grid checked_grid;
    rung_cluster_cost counted = rung_cluster_cost_default();
    TRY(rungi_versioned_struct_check(cost, "cost", "rung_cluster_cost_default"));
    rung_status status = rungi_cluster_problem_grid_read(problem, grid, &cluster, &checked_grid);
    if (status == RUNG_OK)
        counted = count_all(&cluster, &checked_grid);
    rungi_versioned_struct_write(&counted, sizeof counted, cost);
    return status;
}

/* ---- Choosing --------------------------------------------------------------------------------- */

static bool has_speeds(const rung_cluster_problem *cluster)
{
    return cluster->flops_per_second > 0.0 && cluster->bytes_per_second > 0.0;
}

/* Returns the number of chunks of an operand; 1 if no other rank holds a part of it. */
static int64_t chunk_count(int64_t lines, int64_t ranks)
{
    if (ranks == 1)
        return 1;
    return rungi_max(1, rungi_min(MAX_CHUNKS, lines / MIN_CHUNK_LINES));
}

/* If nothing is gathered in chunks, B is still split into chunks, so that partial sums are sent while others are computed. */
static void choose_chunks(const rung_cluster_problem *cluster, rung_cluster_grid *grid)
{
    grid->a_chunks = chunk_count(cluster->m / grid->pm, grid->pn);
    grid->b_chunks = chunk_count(cluster->n / grid->pn, grid->pm);
    if (grid->pk > 1 && grid->a_chunks * grid->b_chunks == 1)
        grid->b_chunks = chunk_count(cluster->n / grid->pn, grid->pk);
}

/* Estimates the cost of the rank with the largest parts, without chunks: the search evaluates thousands of grids. */
static rank_cost_t estimate(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    int64_t in = rungi_cluster_input_element_bytes(cluster), sum = rungi_cluster_sum_element_bytes(cluster);
    int64_t m = rungi_ceil_divide(cluster->m, grid->pm), n = rungi_ceil_divide(cluster->n, grid->pn);
    int64_t k = rungi_ceil_divide(cluster->k, grid->pk);
    int64_t received_in = m * k - rungi_part_size(m * k, grid->pn, grid->pn - 1) + k * n -
                          rungi_part_size(k * n, grid->pm, grid->pm - 1);
    int64_t received_sums = rungi_part_size(m * n, grid->pk, grid->pk - 1) * (grid->pk - 1);
    return (rank_cost_t){.received = in * received_in + sum * received_sums,
                         .flops = 2.0 * (double)m * (double)n * (double)k};
}

/* Returns what the search minimizes: seconds if speeds are known, of which a part of the shorter phase is not overlapped;
 * else bytes. */
static double score_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                       const rank_cost_t *cost_of_rank)
{
    double idle_penalty = rungi_grid_ranks(grid) < cluster->ranks ? score_tolerance : 1.0;
    if (!has_speeds(cluster))
        return (double)cost_of_rank->received * idle_penalty;
    double multiplying = cost_of_rank->flops / cluster->flops_per_second,
           receiving = (double)cost_of_rank->received / cluster->bytes_per_second;
    return (fmax(multiplying, receiving) + fmin(multiplying, receiving) / MAX_CHUNKS) * idle_penalty;
}

typedef struct grid_candidate {
    rung_cluster_grid grid;
    double score;
} grid_candidate_t;

typedef struct grid_search {
    const rung_cluster_problem *cluster;
    grid_candidate_t best[MAX_CANDIDATES]; /* best first */
    int count;
    int64_t least_memory; /* smallest of the grids that did not fit */
} grid_search_t;

/* Compares scores. Among equal scores the smaller pk wins: reductions also cost memory and time. */
static bool is_better(const grid_candidate_t *one, const grid_candidate_t *other)
{
    return one->score != other->score ? one->score < other->score : one->grid.pk < other->grid.pk;
}

static void add_candidate(grid_search_t *search, grid_candidate_t found)
{
    int index = search->count < MAX_CANDIDATES ? search->count++ : MAX_CANDIDATES - 1;
    if (index == MAX_CANDIDATES - 1 && search->best[index].score > 0.0 && !is_better(&found, &search->best[index]))
        return;
    for (; index > 0 && is_better(&found, &search->best[index - 1]); index--)
        search->best[index] = search->best[index - 1];
    search->best[index] = found;
}

static void try_grid(grid_search_t *search, int64_t pm, int64_t pn, int64_t pk)
{
    const rung_cluster_problem *cluster = search->cluster;
    rung_cluster_grid grid = rung_cluster_grid_of(pm, pn, pk);
    if ((pm > 1 && pm > cluster->m) || (pn > 1 && pn > cluster->n) || (pk > 1 && pk > cluster->k))
        return;
    choose_chunks(cluster, &grid);
    int64_t memory = rungi_grid_memory(cluster, &grid);
    if (cluster->memory_bytes > 0 && memory > cluster->memory_bytes) {
        if (search->least_memory == 0 || memory < search->least_memory)
            search->least_memory = memory;
        return;
    }
    rank_cost_t cost_of_rank = estimate(cluster, &grid);
    add_candidate(search, (grid_candidate_t){.grid = grid, .score = score_of(cluster, &grid, &cost_of_rank)});
}

/* Returns the candidate with the shortest predicted time: grids that send equally much differ in when they send. */
static rung_cluster_grid fastest_grid(const grid_search_t *search)
{
    rung_cluster_speed speed = rung_cluster_speed_default();
    speed.flops_per_second = search->cluster->flops_per_second;
    speed.bytes_per_second = search->cluster->bytes_per_second;
    rung_cluster_grid best = search->best[0].grid;
    double min_ranks = rungi_grid_predict(search->cluster, &best, &speed).seconds;
    for (int i = 1; i < search->count; i++) {
        double seconds = rungi_grid_predict(search->cluster, &search->best[i].grid, &speed).seconds;
        if (seconds < 0.995 * min_ranks) { /* else the grid with fewer bytes stays */
            min_ranks = seconds;
            best = search->best[i].grid;
        }
    }
    return best;
}

/* Tries all grids with `pm` ranks along m. */
static void try_rows(grid_search_t *search, int64_t pm, int64_t rest)
{
    for (int64_t low = 1; low * low <= rest; low++) {
        if (rest % low != 0)
            continue;
        try_grid(search, pm, low, rest / low);
        if (low * low != rest)
            try_grid(search, pm, rest / low, low);
    }
}

/* Tries all grids of exactly `ranks` ranks. */
static void try_ranks(grid_search_t *search, int64_t ranks)
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
    grid_search_t search = {.cluster = cluster};
    int64_t min_ranks = cluster->ranks - (int64_t)(cluster->max_idle * (double)cluster->ranks);
    for (int64_t ranks = cluster->ranks; ranks >= min_ranks; ranks--)
        try_ranks(&search, ranks);
    /* A problem with fewer elements than ranks uses as many ranks as have work. If memory is short, some ranks may stay idle:
     * 12 ranks as a box need less memory per rank than 13 in a row. Far fewer ranks need more. */
    int64_t min_ranks_for_memory = search.least_memory > 0
                                       ? cluster->ranks - rungi_min(cluster->ranks / 4 + 1, MAX_IDLE_FOR_MEMORY)
                                       : 1;
    for (int64_t ranks = min_ranks - 1; ranks >= rungi_max(min_ranks_for_memory, 1) && search.count == 0; ranks--)
        try_ranks(&search, ranks);
    if (search.count == 0)
        return rungi_fail(
            RUNG_STATUS_NO_MEMORY,
            "%lld x %lld x %lld on %lld ranks needs %lld bytes per rank, and a rank has %lld; use more ranks",
            (long long)cluster->m, (long long)cluster->n, (long long)cluster->k, (long long)cluster->ranks,
            (long long)search.least_memory, (long long)cluster->memory_bytes);
    *grid = has_speeds(cluster) ? fastest_grid(&search) : search.best[0].grid;
    return RUNG_OK;
}

rung_status rung_cluster_grid_choose(const rung_cluster_problem *problem, rung_cluster_grid *grid)
{
    rung_cluster_problem cluster;
    rung_cluster_grid chosen = rung_cluster_grid_of(0, 0, 0);
    TRY(rungi_versioned_struct_check(grid, "grid", "rung_cluster_grid_of"));
    rung_status status = rungi_cluster_problem_read(problem, &cluster);
    if (status == RUNG_OK)
        status = choose(&cluster, &chosen);
    rungi_versioned_struct_write(&chosen, sizeof chosen, grid);
    return status;
}
