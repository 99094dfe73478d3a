/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - grids of ranks: the bound is that of the paper, the best grid is found, and two hundred shapes come close to
 * the bound. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/grid.h"
#include "random_shapes.h"

static rung_cluster_problem cluster_of(int64_t ranks, int64_t m, int64_t n, int64_t k)
{
    return rung_cluster_problem_of(ranks, m, n, k, RUNG_F64, RUNG_F64, RUNG_F64);
}

static rung_cluster_grid grid_of(int64_t pm, int64_t pn, int64_t pk, int64_t a_chunks, int64_t b_chunks)
{
    rung_cluster_grid grid = rung_cluster_grid_of(pm, pn, pk);
    grid.a_chunks = a_chunks;
    grid.b_chunks = b_chunks;
    return grid;
}

static rung_cluster_speed speed_of(double flops_per_second, double bandwidth, double latency, double memory_bandwidth)
{
    rung_cluster_speed speed = rung_cluster_speed_default();
    speed.flops_per_second = flops_per_second;
    speed.bytes_per_second = bandwidth;
    speed.latency_seconds = latency;
    speed.memory_bytes_per_second = memory_bandwidth;
    return speed;
}

static rung_cluster_cost cost_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid)
{
    rung_cluster_cost cost = rung_cluster_cost_default();
    if (rung_cluster_grid_cost(cluster, grid, &cost) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return cost;
}

static rung_cluster_grid chosen(const rung_cluster_problem *cluster)
{
    rung_cluster_grid grid = grid_of(1, 1, 1, 1, 1);
    if (rung_cluster_grid_choose(cluster, &grid) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return grid;
}

/* ---- The bound ---------------------------------------------------------------------------------- */

/* Theorem 3 of Al Daas, Ballard, Grigori, Kumar and Rouse, in words; m >= n >= k there. */
static double paper_bound_words(double p, double m, double n, double k)
{
    if (p <= m / n)
        return (1.0 - 1.0 / p) * n * k;
    if (p <= m * n / (k * k))
        return 2.0 * sqrt(m * n * k * k / p) - (m * k + n * k) / p;
    return 3.0 * pow(m * n * k / p, 2.0 / 3.0) - (m * n + m * k + n * k) / p;
}

static void bound_matches_the_paper(void **state)
{
    static const int64_t sides[][3] = {{100000, 300, 200}, {50000, 40000, 100}, {4096, 4096, 4096}, {9000, 5000, 3000}};
    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int64_t ranks = 1; ranks <= 4096; ranks += 1 + ranks / 3) {
            const int64_t *d = sides[i];
            double words = paper_bound_words((double)ranks, (double)d[0], (double)d[1], (double)d[2]);
            const rung_cluster_problem orders[] = {
                cluster_of(ranks, d[0], d[1], d[2]), cluster_of(ranks, d[1], d[2], d[0]),
                cluster_of(ranks, d[2], d[0], d[1]), cluster_of(ranks, d[2], d[1], d[0])};
            for (int order = 0; order < 4; order++) {
                rung_cluster_grid one = grid_of(1, 1, 1, 1, 1);
                double bound = cost_of(&orders[order], &one).bound_bytes;
                if (fabs(bound - 8.0 * words) > 1e-9 * 8.0 * words + 1e-3)
                    fail_msg("%lld ranks: %.1f, not %.1f", (long long)ranks, bound, 8.0 * words);
            }
        }
}

static void cubes_meet_the_bound(void **state)
{
    (void)state;
    for (int64_t side = 1; side <= 16; side *= 2) {
        rung_cluster_problem cluster = cluster_of(side * side * side, 4096, 4096, 4096);
        rung_cluster_grid grid = chosen(&cluster);
        rung_cluster_cost cost = cost_of(&cluster, &grid);
        assert_true(grid.pm == side && grid.pn == side && grid.pk == side);
        assert_true(fabs((double)cost.received_bytes - cost.bound_bytes) <= 1e-6 * cost.bound_bytes);
    }
}

/* ---- Choosing ----------------------------------------------------------------------------------- */

/* The fewest bytes of any grid, by trying all. */
static int64_t fewest(const rung_cluster_problem *cluster)
{
    int64_t best = INT64_MAX, least = cluster->ranks - (int64_t)(cluster->max_idle * (double)cluster->ranks);
    for (int64_t pm = 1; pm <= cluster->ranks; pm++)
        for (int64_t pn = 1; pm * pn <= cluster->ranks; pn++)
            for (int64_t pk = (least + pm * pn - 1) / (pm * pn); pm * pn * pk <= cluster->ranks; pk++) {
                rung_cluster_grid grid = grid_of(pm, pn, pk > 0 ? pk : 1, 1, 1);
                int64_t received = cost_of(cluster, &grid).received_bytes;
                best = received < best ? received : best;
            }
    return best;
}

static void the_best_grid_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        rung_cluster_problem cluster = shape_at(100, i);
        cluster.ranks = 2 + cluster.ranks % 40;
        rung_cluster_grid grid = chosen(&cluster);
        int64_t received = cost_of(&cluster, &grid).received_bytes, best = fewest(&cluster);
        /* Fewer ranks must save more than a few thousandths; pieces round by an element each. */
        if ((double)received > 1.003 * (double)best + 1e4)
            fail_msg("%lld ranks, %lld x %lld x %lld: %lld bytes, and %lld would do", (long long)cluster.ranks,
                     (long long)cluster.m, (long long)cluster.n, (long long)cluster.k, (long long)received,
                     (long long)best);
    }
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double ratio_of(const rung_cluster_problem *cluster)
{
    rung_cluster_grid grid = chosen(cluster);
    rung_cluster_cost cost = cost_of(cluster, &grid);
    assert_true((double)rungi_grid_ranks(&grid) >= 0.94 * (double)cluster->ranks);
    /* Or the bound is none: that of the ranks that work, since those hold all there is. */
    rung_cluster_problem working = *cluster;
    working.ranks = rungi_grid_ranks(&grid);
    assert_true((double)cost.received_bytes >= 0.99999 * cost_of(&working, &grid).bound_bytes);
    return (double)cost.received_bytes / cost.bound_bytes;
}

/* The 99th percentile of one set, and of ten. */
static void shapes_come_close_to_the_bound(void **state)
{
    static double ratios[10 * SHAPES];
    (void)state;
    for (int seed = 0; seed < 10; seed++)
        for (int i = 0; i < SHAPES; i++) {
            rung_cluster_problem shape = shape_at(seed, i);
            ratios[seed * SHAPES + i] = ratio_of(&shape);
        }
    qsort(ratios, SHAPES, sizeof *ratios, ascending);
    double one = ratios[SHAPES * 99 / 100 - 1];
    qsort(ratios, 10 * SHAPES, sizeof *ratios, ascending);
    double ten = ratios[10 * SHAPES * 99 / 100 - 1];
    printf("99th percentile: %.4f of %d shapes, %.4f of %d\n", one, SHAPES, ten, 10 * SHAPES);
    assert_true(one <= 1.10 && ten <= 1.10);
}

static void invalid_problems_are_rejected(void **state)
{
    rung_cluster_problem cluster = cluster_of(0, 10, 10, 10);
    rung_cluster_grid grid = grid_of(1, 1, 1, 1, 1), wrong = grid_of(2, 2, 2, 1, 1);
    rung_cluster_cost cost = rung_cluster_cost_default();
    rung_cluster_prediction predicted = rung_cluster_prediction_default();
    rung_cluster_speed speed = rung_cluster_speed_default();
    (void)state;
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_STATUS_INVALID);
    cluster = cluster_of(4, -1, 10, 10);
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_STATUS_INVALID);
    cluster = cluster_of(4, INT64_C(1) << 40, INT64_C(1) << 40, 1);
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_STATUS_TOO_LARGE);
    cluster = cluster_of(4, 1000, 1000, 1000);
    assert_int_equal(rung_cluster_grid_cost(&cluster, &wrong, &cost), RUNG_STATUS_INVALID); /* 8 of 4 */
    assert_int_equal(rung_cluster_grid_predict(&cluster, &wrong, &speed, &predicted), RUNG_STATUS_INVALID);
    cluster.memory_bytes = 1000;
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_STATUS_NO_MEMORY);
    cluster = cluster_of(1000, 3, 2, 1); /* more ranks than work */
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_OK);
    assert_true(rungi_grid_ranks(&grid) <= 6);
    cluster = cluster_of(8, 0, 5, 5);
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_OK);
    cluster.b_type = RUNG_F32;
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "f64 by f32 into f64"));
    cluster.a_type = cluster.c_type = RUNG_F32; /* which librung multiplies by F16 */
    cluster.b_type = RUNG_F16;
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "A is f32 and B is f16"));
    assert_int_equal(rung_cluster_grid_choose(NULL, &grid), RUNG_STATUS_INVALID);
}

/* A program may have been compiled for a header with fewer fields, or with more. */
static void structs_are_read_by_their_size(void **state)
{
    struct {
        rung_cluster_problem problem;
        double later;
    } newer;
    struct {
        rung_cluster_grid grid;
        int64_t later;
    } newer_grid;
    struct {
        rung_cluster_cost cost;
        double later;
    } newer_cost;
    rung_cluster_speed speed = speed_of(1e12, 1e9, 0, 0);
    rung_cluster_prediction predicted = rung_cluster_prediction_default();
    rung_cluster_piece piece;
    (void)state;
    memset(&newer, 0, sizeof newer);
    memset(&newer_grid, 0, sizeof newer_grid);
    newer.problem = cluster_of(8, 1000, 1000, 1000);
    newer.problem.size = sizeof newer;
    newer_grid.grid = grid_of(1, 1, 1, 1, 1);
    newer_grid.grid.size = sizeof newer_grid;
    newer_grid.later = 9;
    newer_cost.cost = rung_cluster_cost_default();
    newer_cost.cost.size = sizeof newer_cost;
    newer_cost.later = 9;
    assert_int_equal(rung_cluster_grid_choose(&newer.problem, &newer_grid.grid), RUNG_OK);
    assert_true(newer_grid.grid.pm == 2 && newer_grid.later == 0 && newer_grid.grid.size == sizeof newer_grid);
    assert_int_equal(rung_cluster_grid_cost(&newer.problem, &newer_grid.grid, &newer_cost.cost), RUNG_OK);
    assert_true(newer_cost.cost.received_bytes > 0 && newer_cost.later == 0);
    newer_grid.later = 1; /* a field that this version does not know */
    assert_int_equal(rung_cluster_grid_cost(&newer.problem, &newer_grid.grid, &newer_cost.cost),
                     RUNG_STATUS_UNSUPPORTED);
    assert_int_equal(rung_cluster_share_piece(&newer.problem, &newer_grid.grid, 0, RUNG_CLUSTER_OPERAND_A, 0, &piece),
                     RUNG_STATUS_UNSUPPORTED);
    assert_int_equal(rung_cluster_share_elements(&newer.problem, &newer_grid.grid, 0, RUNG_CLUSTER_OPERAND_A), 0);
    newer_grid.later = 0;
    newer.later = 1;
    assert_int_equal(rung_cluster_grid_choose(&newer.problem, &newer_grid.grid), RUNG_STATUS_UNSUPPORTED);

    rung_cluster_problem problem = cluster_of(8, 1000, 1000, 1000);
    problem.memory_bytes = -1; /* an older program has no such field */
    problem.size = offsetof(rung_cluster_problem, memory_bytes);
    assert_int_equal(rung_cluster_grid_choose(&problem, &newer_grid.grid), RUNG_OK);
    rung_cluster_cost older = rung_cluster_cost_default();
    older.size = offsetof(rung_cluster_cost, messages);
    older.messages = -7;
    assert_int_equal(rung_cluster_grid_cost(&problem, &newer_grid.grid, &older), RUNG_OK);
    assert_true(older.received_bytes > 0 && older.messages == -7);

    problem.size = 0; /* ... = {0} */
    assert_int_equal(rung_cluster_grid_choose(&problem, &newer_grid.grid), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_cluster_problem_of"));
    problem = cluster_of(8, 1000, 1000, 1000);
    speed.size = 0;
    assert_int_equal(rung_cluster_grid_predict(&problem, &newer_grid.grid, &speed, &predicted), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_cluster_speed_default"));
    predicted.size = 0;
    speed.size = sizeof speed;
    assert_int_equal(rung_cluster_grid_predict(&problem, &newer_grid.grid, &speed, &predicted), RUNG_STATUS_INVALID);
    older.size = (size_t)1 << 40;
    assert_int_equal(rung_cluster_grid_cost(&problem, &newer_grid.grid, &older), RUNG_STATUS_INVALID);
    newer_grid.grid.size = 0;
    assert_int_equal(rung_cluster_grid_choose(&problem, &newer_grid.grid), RUNG_STATUS_INVALID);
}

static void memory_limit_is_respected(void **state)
{
    rung_cluster_problem cluster = cluster_of(512, 16384, 16384, 16384);
    rung_cluster_grid grid = chosen(&cluster);
    rung_cluster_cost cost = cost_of(&cluster, &grid);
    (void)state;
    for (; cluster.memory_bytes == 0 || cluster.memory_bytes > 40000000;
         cluster.memory_bytes = cluster.memory_bytes / 10 * 9) {
        if (cluster.memory_bytes == 0)
            cluster.memory_bytes = cost.memory_bytes;
        if (rung_cluster_grid_choose(&cluster, &grid) != RUNG_OK)
            break;
        rung_cluster_cost less = cost_of(&cluster, &grid);
        assert_true(less.memory_bytes <= cluster.memory_bytes);
        assert_true(less.received_bytes >= cost.received_bytes);
    }
    assert_true(cluster.memory_bytes < cost.memory_bytes); /* some grid with less was found */

    cluster = cluster_of(13, 1024, 1024, 1024); /* in a row they need more than twelve in a box */
    cluster.memory_bytes = 8000000;
    grid = chosen(&cluster);
    assert_int_equal(grid.pm * grid.pn * grid.pk, 12);
}

/* What the schedule of that rank takes, chunk by chunk. */
static int64_t memory_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank)
{
    int64_t in = 0, sums = 0, most = 0;
    int64_t i_m = rank / grid->pk / grid->pn, i_n = rank / grid->pk % grid->pn, i_k = rank % grid->pk;
    int64_t m = rungi_part_size(cluster->m, grid->pm, i_m), n = rungi_part_size(cluster->n, grid->pn, i_n),
            k = rungi_part_size(cluster->k, grid->pk, i_k);
    for (int64_t s = 0; s < grid->a_chunks; s++) {
        int64_t chunk = rungi_part_size(m, grid->a_chunks, s) * k;
        in += rungi_part_size(chunk, grid->pn, i_n) + (grid->pn > 1 ? chunk : 0);
    }
    for (int64_t t = 0; t < grid->b_chunks; t++) {
        int64_t chunk = rungi_part_size(n, grid->b_chunks, t) * k;
        in += rungi_part_size(chunk, grid->pm, i_m) + (grid->pm > 1 ? chunk : 0);
    }
    for (int64_t i = 0; i < grid->a_chunks * grid->b_chunks; i++) {
        int64_t block = rungi_part_size(m, grid->a_chunks, i / grid->b_chunks) *
                        rungi_part_size(n, grid->b_chunks, i % grid->b_chunks);
        sums += rungi_part_size(block, grid->pk, i_k);
        most = block > most ? block : most;
    }
    if (grid->pk > 1)
        sums += RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT * rungi_grid_reduction_elements(grid, most);
    return in * rungi_cluster_input_element_bytes(cluster) + sums * rungi_cluster_sum_element_bytes(cluster);
}

/* No rank needs more than is told, and some rank less by an element a chunk at most. */
static void reported_memory_is_sufficient(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        rung_cluster_problem cluster = cluster_of(64, unit_random(&seed, 90), unit_random(&seed, 90),
                                                  unit_random(&seed, 90));
        rung_cluster_grid grid = grid_of(1 + unit_random(&seed, 4), 1 + unit_random(&seed, 4),
                                         1 + unit_random(&seed, 4), 1 + unit_random(&seed, 5),
                                         1 + unit_random(&seed, 5));
        int64_t told = cost_of(&cluster, &grid).memory_bytes, most = 0;
        for (int64_t rank = 0; rank < rungi_grid_ranks(&grid); rank++) {
            int64_t memory = memory_of(&cluster, &grid, rank);
            most = memory > most ? memory : most;
        }
        if (most > told || told > most + 8 * (grid.a_chunks + grid.b_chunks + grid.a_chunks * grid.b_chunks))
            fail_msg("%lld x %lld x %lld on %lld x %lld x %lld in %lld, %lld: %lld bytes, and %lld are told",
                     (long long)cluster.m, (long long)cluster.n, (long long)cluster.k, (long long)grid.pm,
                     (long long)grid.pn, (long long)grid.pk, (long long)grid.a_chunks, (long long)grid.b_chunks,
                     (long long)most, (long long)told);
    }
}

/* A limit is kept to by the byte, whatever it is. */
static void memory_limit_is_exact(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (int i = 0; i < 300; i++) {
        rung_cluster_problem cluster = cluster_of(1 + unit_random(&seed, 60), 1 + unit_random(&seed, 3000),
                                                  1 + unit_random(&seed, 3000), 1 + unit_random(&seed, 3000));
        rung_cluster_grid grid = chosen(&cluster);
        for (cluster.memory_bytes = cost_of(&cluster, &grid).memory_bytes;
             rung_cluster_grid_choose(&cluster, &grid) == RUNG_OK;) {
            int64_t memory = cost_of(&cluster, &grid).memory_bytes;
            if (memory > cluster.memory_bytes)
                fail_msg("%lld bytes are there, and the grid needs %lld", (long long)cluster.memory_bytes,
                         (long long)memory);
            cluster.memory_bytes = memory - 1; /* the next that needs less, or none */
        }
        cluster.memory_bytes++;
        assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_OK); /* of a byte more there was one */
    }
}

/* ---- Shares ------------------------------------------------------------------------------------- */

/* Every element of an extent is in one part, and parts differ by one at most. */
static void parts_are_equal(void **state)
{
    (void)state;
    for (int64_t extent = 0; extent < 200; extent++)
        for (int64_t parts = 1; parts < 40; parts++) {
            assert_int_equal(rungi_part_start(extent, parts, 0), 0);
            assert_int_equal(rungi_part_start(extent, parts, parts), extent);
            for (int64_t i = 0; i < parts; i++) {
                int64_t size = rungi_part_size(extent, parts, i);
                assert_true(size == extent / parts || size == extent / parts + (extent % parts != 0));
            }
            assert_int_equal(rungi_part_size(extent, parts, parts - 1), (extent + parts - 1) / parts);
        }
}

/* Each chunk comes once, and each block is multiplied once, when both of its chunks are there. */
static void all_blocks_are_multiplied(void **state)
{
    (void)state;
    for (int64_t sm = 1; sm <= 9; sm++)
        for (int64_t sn = 1; sn <= 9; sn++) {
            rung_cluster_grid grid = grid_of(1, 1, 1, sm, sn);
            int64_t a = 0, b = 0, blocks = 0;
            for (int64_t i = 0; i < sm + sn; i++) {
                rungi_arrival arrival = rungi_arrival_at(&grid, i);
                assert_int_equal(arrival.index, arrival.is_b ? b : a);
                assert_int_equal(arrival.other_chunks, arrival.is_b ? a : b);
                blocks += arrival.other_chunks;
                *(arrival.is_b ? &b : &a) += 1;
            }
            assert_true(a == sm && b == sn && blocks == sm * sn);
        }
}

/* ---- Time --------------------------------------------------------------------------------------- */

static void time_adds_up(void **state)
{
    rung_cluster_problem cluster = cluster_of(64, 8192, 8192, 8192);
    rung_cluster_grid grid = chosen(&cluster);
    rung_cluster_cost cost = cost_of(&cluster, &grid);
    rung_cluster_speed speed = speed_of(1e12, 1e9, 1e-6, 1e11);
    rung_cluster_prediction slow = rung_cluster_prediction_default(), fast = slow, alone = slow;
    (void)state;
    assert_int_equal(rung_cluster_grid_predict(&cluster, &grid, &speed, &slow), RUNG_OK);
    assert_true(fabs(slow.seconds - slow.multiply_seconds - slow.copy_seconds - slow.wait_seconds) <
                1e-9 * slow.seconds);
    assert_true(fabs(slow.multiply_seconds - cost.flops / 1e12) < 1e-9 * slow.multiply_seconds);
    assert_true(slow.seconds >= (double)cost.received_bytes / 1e9); /* no link is faster than it is */
    speed.bytes_per_second = 1e15;
    assert_int_equal(rung_cluster_grid_predict(&cluster, &grid, &speed, &fast), RUNG_OK);
    assert_true(fast.wait_seconds < 1e-3 && fast.seconds < slow.seconds);
    cluster.ranks = 1;
    grid = chosen(&cluster);
    assert_int_equal(rung_cluster_grid_predict(&cluster, &grid, &speed, &alone), RUNG_OK);
    assert_true(alone.wait_seconds == 0.0 && alone.copy_seconds == 0.0);
}

/* Speeds that are none are refused, and with any others there is an end. */
static void prediction_terminates_for_any_speed(void **state)
{
    static const double wrong[][4] = {{1e12, 0, 0, 0},    {1e12, NAN, 0, 0},        {1e12, 1e-300, 0, 0},
                                      {1e12, -1, 0, 0},   {1e12, 1e9, INFINITY, 0}, {1e12, 1e9, NAN, 0},
                                      {1e12, 1e9, -1, 0}, {0, 1e9, 0, 0},           {1e-300, 1e9, 0, 0},
                                      {NAN, 1e9, 0, 0},   {1e12, 1e9, 0, 1e-300},   {1e12, 1e9, 0, NAN}};
    static const double ends[] = {1, 1e9, 1e300, INFINITY};
    static const double latencies[] = {0, 1e-300, 1e-6, 9e8};
    rung_cluster_problem cluster = cluster_of(64, 1 << 20, 1 << 20, 1 << 20);
    rung_cluster_grid grid = chosen(&cluster), many = grid_of(4, 4, 4, 100, 100), too_many = grid_of(4, 4, 4, 2000, 1);
    rung_cluster_prediction predicted = rung_cluster_prediction_default();
    rung_cluster_speed speed;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        speed = speed_of(wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3]);
        assert_int_equal(rung_cluster_grid_predict(&cluster, &grid, &speed, &predicted), RUNG_STATUS_INVALID);
    }
    for (int i = 0; i < 4 * 4 * 4 * 4; i++) {
        speed = speed_of(ends[i % 4], ends[i / 4 % 4], latencies[i / 16 % 4], ends[i / 64]);
        assert_int_equal(rung_cluster_grid_predict(&cluster, &grid, &speed, &predicted), RUNG_OK);
        assert_true(isfinite(predicted.seconds) && predicted.seconds >= 0.0);
        assert_int_equal(rung_cluster_grid_predict(&cluster, &many, &speed, &predicted), RUNG_OK);
        assert_true(isfinite(predicted.seconds));
    }
    speed = speed_of(1, 1, 0, 0);
    assert_int_equal(rung_cluster_grid_predict(&cluster, &too_many, &speed, &predicted), RUNG_STATUS_INVALID);
    /* rung_cluster_grid_choose predicts too, of the speeds it is given. */
    for (int i = 0; i < 4 * 4; i++) {
        cluster.flops_per_second = ends[i % 4];
        cluster.bytes_per_second = ends[i / 4];
        assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_OK);
    }
    cluster.flops_per_second = 1e-300;
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_STATUS_INVALID);
    cluster.flops_per_second = NAN;
    assert_int_equal(rung_cluster_grid_choose(&cluster, &grid), RUNG_STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_matches_the_paper),
        cmocka_unit_test(cubes_meet_the_bound),
        cmocka_unit_test(the_best_grid_is_found),
        cmocka_unit_test(shapes_come_close_to_the_bound),
        cmocka_unit_test(invalid_problems_are_rejected),
        cmocka_unit_test(structs_are_read_by_their_size),
        cmocka_unit_test(memory_limit_is_respected),
        cmocka_unit_test(reported_memory_is_sufficient),
        cmocka_unit_test(memory_limit_is_exact),
        cmocka_unit_test(parts_are_equal),
        cmocka_unit_test(all_blocks_are_multiplied),
        cmocka_unit_test(time_adds_up),
        cmocka_unit_test(prediction_terminates_for_any_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
