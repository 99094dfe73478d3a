/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_copies.c - mbarriers, clusters and bulk copies of hopper_copies.cu: results against the host, and planted bugs. The
 * PTX file beside the source is what nvcc made of it. */
#include "hopper_run.h"

enum { WORDS = 1024, TILE = 64, TILES = 8 };

static int32_t input(int i)
{
    return i * 37 % 101 - 50;
}

/* Runs a case with the arrays in and out. */
static void run(const hopper_case_t *test, uint32_t checks, int64_t threads, int32_t out[WORDS])
{
    hopper_t hopper = hopper_create("hopper_copies", checks, threads);
    int32_t in[WORDS];
    for (int i = 0; i < WORDS; i++)
        in[i] = input(i);
    uint64_t in_address = hopper_allocate(&hopper, "in", in, sizeof in);
    uint64_t out_address = hopper_allocate(&hopper, "out", NULL, sizeof in);
    void *arguments[] = {&in_address, &out_address};
    hopper_launch(&hopper, test, arguments, 0);
    hopper_judge(&hopper, test);
    assert_int_equal(rung_emulator_read(hopper.emulator, out_address, out, sizeof in), RUNG_OK);
    hopper_destroy(&hopper);
}

static int32_t expected_counts(int i)
{
    static const int32_t values[] = {1, 0, 4, 2, 0, 0, 1, 1, 0, 3, 1};
    return i < (int)(sizeof values / sizeof *values) ? values[i] : 0;
}

static int32_t expected_sums(int i)
{
    int32_t sum = 0;
    for (int k = 0; k < TILES; k++)
        sum += input(k * TILE + i);
    return i < TILE ? sum : 0;
}

static int32_t expected_exchange(int i)
{
    return i < TILE ? input(i ^ 33) : 0;
}

static int32_t expected_copy(int i)
{
    return i < TILE ? input(i) : 0;
}

static int32_t expected_stores(int i)
{
    return i < TILE ? 2 * input(i) + 2 * input(TILE + i) : i < 2 * TILE ? 2 * input(i) : 0;
}

/* Clusters of 4 blocks of 32 threads. */
static int32_t expected_cluster_sum(int i)
{
    int32_t sum = 0;
    for (int k = 0; k < 128; k++)
        sum += input(i / 4 * 128 + k);
    return i < 8 ? sum + i % 4 : 0;
}

static int32_t expected_ring(int i)
{
    return i == 0 ? input(0) + 6 : i == 1 ? input(0) : i == 2 ? input(0) + 1 : i == 3 ? input(0) + 3 : 0;
}

static int32_t expected_multicast(int i)
{
    return i < 4 * TILE ? input(i % TILE) + input(TILE - 1 - i % TILE) : 0;
}

static int32_t expected_async_stores(int i)
{
    int32_t rank = i / TILE, sum = 0;
    for (int k = 0; k < TILE; k++)
        sum += 4 * input(k);
    return i < 4 * TILE ? input((i % TILE) ^ 1) + (rank + 3) % 4 + i % TILE + (rank == 0 ? sum : 0) : 0;
}

/* A grid of 4 x 4 in clusters of 2 x 2. */
static int32_t expected_ids(int i)
{
    int x = i % 4, y = i / 4;
    return i < 16 ? x % 2 + 10 * (y % 2) + 2200 + 10000 * (x / 2) + 200000 + 1000000 * (x % 2 + y % 2 * 2) + 20000000
                  : 0;
}

static const struct {
    hopper_case_t test;
    int32_t (*expected)(int i);
} correct[] = {
    {{"mbarrier_counts", 0, 0, 1, {1}, {0}, false}, expected_counts},
    {{"store_pipeline", 0, 0, 96, {1}, {0}, false}, expected_sums},
    {{"copy_arrive", 0, 0, 64, {1}, {0}, false}, expected_exchange},
    {{"bulk_pipeline", 0, 0, 96, {1}, {0}, false}, expected_sums},
    {{"bulk_handover", 0, 0, 64, {1}, {0}, false}, expected_copy},
    {{"bulk_stores", 0, 0, 64, {1}, {0}, false}, expected_stores},
    {{"cluster_sum", 0, 0, 32, {8}, {4}, false}, expected_cluster_sum},
    {{"cluster_ring", 0, 0, 32, {4}, {4}, false}, expected_ring},
    {{"cluster_multicast", 0, 0, 64, {4}, {4}, false}, expected_multicast},
    {{"cluster_stores", 0, 0, 64, {4}, {4}, false}, expected_async_stores},
    {{"cluster_ids", 0, 0, 32, {4, 4}, {2, 2}, false}, expected_ids},
};

static const hopper_case_t bugs[] = {
    {"store_pipeline", 1, RUNG_EMULATOR_RACE, 96, {1}, {0}, false},
    {"store_pipeline", 2, RUNG_EMULATOR_RACE, 96, {1}, {0}, false},
    {"store_pipeline", 3, RUNG_EMULATOR_RACE, 96, {1}, {0}, false},
    {"store_pipeline", 4, RUNG_EMULATOR_BARRIER, 96, {1}, {0}, true},
    {"copy_arrive", 1, RUNG_EMULATOR_ASYNC_COPY, 64, {1}, {0}, false},
    {"bulk_pipeline", 1, RUNG_EMULATOR_ASYNC_COPY, 96, {1}, {0}, false},
    {"bulk_pipeline", 2, RUNG_EMULATOR_RACE, 96, {1}, {0}, false},
    {"bulk_pipeline", 3, RUNG_EMULATOR_BARRIER, 96, {1}, {0}, true},
    {"bulk_pipeline", 4, RUNG_EMULATOR_ASYNC_COPY, 96, {1}, {0}, true},
    {"bulk_handover", 1, RUNG_EMULATOR_RACE, 64, {1}, {0}, false},
    {"bulk_stores", 1, RUNG_EMULATOR_ASYNC_COPY, 64, {1}, {0}, false},
    {"bulk_stores", 2, RUNG_EMULATOR_ASYNC_COPY, 64, {1}, {0}, false},
    {"bulk_stores", 3, RUNG_EMULATOR_ASYNC_COPY, 64, {1}, {0}, false},
    {"cluster_sum", 1, RUNG_EMULATOR_RACE, 32, {8}, {4}, false},
    {"cluster_sum", 2, RUNG_EMULATOR_USE_AFTER_FREE, 32, {8}, {4}, false},
    {"cluster_ring", 1, RUNG_EMULATOR_UNINITIALIZED, 32, {4}, {4}, false},
    {"cluster_stores", 1, RUNG_EMULATOR_ASYNC_COPY, 64, {4}, {4}, false},
    {"cluster_multicast", 1, RUNG_EMULATOR_ASYNC_COPY, 64, {4}, {4}, false},
};

static void results_are_right(void **state)
{
    (void)state;
    int32_t out[WORDS];
    for (size_t i = 0; i < sizeof correct / sizeof *correct; i++)
        for (int checks = 0; checks < 2; checks++) {
            run(&correct[i].test, checks ? RUNG_EMULATOR_CHECK_ALL : 0, 1 + checks, out);
            for (int k = 0; k < WORDS; k++)
                if (out[k] != correct[i].expected(k))
                    fail_msg("%s: out[%d] is %d, expected %d", correct[i].test.kernel, k, out[k],
                             correct[i].expected(k));
        }
}

static void bugs_are_found(void **state)
{
    (void)state;
    int32_t out[WORDS];
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        run(&bugs[i], RUNG_EMULATOR_CHECK_ALL, 1, out);
}

static void invalid_clusters_are_rejected(void **state)
{
    (void)state;
    hopper_t hopper = hopper_create("hopper_copies", 0, 1);
    uint64_t address = hopper_allocate(&hopper, "out", NULL, 4096);
    void *arguments[] = {&address, &address};
    rung_emulator_launch launch = rung_emulator_launch_of(6, 32, arguments);
    rung_emulator_kernel *kernel = hopper_find(&hopper, "cluster_ids", 0);
    launch.cluster[0] = 4; /* 6 is not a multiple */
    assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_STATUS_INVALID);
    launch.grid[0] = launch.cluster[0] = 32; /* too large */
    assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_STATUS_INVALID);
    hopper_destroy(&hopper);
}

int main(void)
{
    unit_clean_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right),
        cmocka_unit_test(bugs_are_found),
        cmocka_unit_test(invalid_clusters_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
