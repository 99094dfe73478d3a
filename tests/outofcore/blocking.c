/* SPDX-License-Identifier: Apache-2.0 */
/* blocking.c - blocks and panels: they fit, cover C once, and move few bytes. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>

#include "outofcore/blocking.h"

static rung_outofcore_blocking chosen(int64_t m, int64_t n, int64_t k, int64_t bytes, rungi_outofcore_limits limits)
{
    rungi_outofcore_sizes sizes = {
        .m = m, .n = n, .k = k, .input_bytes = bytes, .sum_bytes = bytes, .output_bytes = bytes};
    rung_outofcore_blocking blocking;
    if (rungi_blocking_choose(&sizes, &limits, &blocking) != RUNG_OK)
        fail_msg("%lld x %lld x %lld in %lld: %s", (long long)m, (long long)n, (long long)k, (long long)limits.memory,
                 rung_error_text());
    return blocking;
}

/* Checks what holds for all block sizes. */
static void check_blocking(const rung_outofcore_blocking *blocking, int64_t m, int64_t n, int64_t k, int64_t bytes,
                           rungi_outofcore_limits limits)
{
    assert_true(blocking->used_bytes <= limits.memory);
    int64_t strip = rungi_outofcore_slice_rows(blocking->block_rows) < blocking->block_rows
                        ? rungi_outofcore_slice_rows(blocking->block_rows)
                        : blocking->block_rows;
    assert_int_equal(
        blocking->used_bytes,
        bytes * (blocking->block_rows * blocking->block_cols +
                 2 * blocking->panel_depth * (strip + blocking->block_cols + (blocking->block_cols < 1024 ? 0 : 64))));
    assert_true((blocking->row_blocks - 1) * blocking->block_rows < m &&
                blocking->row_blocks * blocking->block_rows >= m);
    assert_true((blocking->col_blocks - 1) * blocking->block_cols < n &&
                blocking->col_blocks * blocking->block_cols >= n);
    if (k > 0)
        assert_true((blocking->panels - 1) * blocking->panel_depth < k &&
                    blocking->panels * blocking->panel_depth >= k);
    assert_int_equal(blocking->read_bytes, bytes * (m * k * blocking->col_blocks + k * n * blocking->row_blocks));
    assert_int_equal(blocking->written_bytes, bytes * m * n);
    if (limits.max_buffer_bytes > 0) {
        assert_true(blocking->block_rows * blocking->block_cols * bytes <= limits.max_buffer_bytes);
        assert_true(blocking->block_rows * blocking->panel_depth * bytes <= limits.max_buffer_bytes &&
                    blocking->block_cols * blocking->panel_depth * bytes <= limits.max_buffer_bytes);
    }
}

static double ratio_of(int64_t m, int64_t n, int64_t k, int64_t size, int64_t memory)
{
    rungi_outofcore_limits limits = {.memory = memory, .min_blocks = 1};
    rung_outofcore_blocking blocking = chosen(m, n, k, size, limits);
    check_blocking(&blocking, m, n, k, size, limits);
    double words = (double)memory / (double)size;
    double bound = (2.0 * (double)m * (double)n * (double)k / sqrt(words) + (double)m * (double)n) * (double)size;
    assert_true(fabs(blocking.bound_bytes / bound - 1) < 1e-12);
    return (double)(blocking.read_bytes + blocking.written_bytes) / bound;
}

/* Three squares of ten times the memory together, from the smallest to some TiB: 1.25 times the bound at most. */
static void large_cubes_stay_near_the_bound(void **state)
{
    double worst = 0;
    (void)state;
    for (double side = 100; side < 1e6; side *= 1.01) {
        int64_t n = (int64_t)side, size = n % 2 ? 4 : 8;
        double ratio = ratio_of(n, n, n, size, size * 3 * n * n / 10);
        if (ratio > 1.25)
            fail_msg("%lld: %.3f times the bound", (long long)n, ratio);
        worst = ratio > worst ? ratio : worst;
    }
    printf("ten times the memory: %.3f times the bound at most\n", worst);
}

/* Other shapes and memories: where C is but a little larger than a whole number of blocks, one more is needed. */
static void other_shapes_stay_near_the_bound(void **state)
{
    uint64_t seed = 1;
    double worst = 0;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        int64_t side = 1 << (9 + unit_random(&seed, 9));
        int64_t m = side / 2 + unit_random(&seed, side), n = side / 2 + unit_random(&seed, side);
        int64_t k = side / 2 + unit_random(&seed, side), size = i % 2 ? 4 : 8, times = 10 + unit_random(&seed, 200);
        double ratio = ratio_of(m, n, k, size, size * (m * k + k * n + m * n) / times);
        worst = ratio > worst ? ratio : worst;
    }
    printf("any shape, 10 to 200 times the memory: %.3f times the bound at most\n", worst);
    assert_true(worst < 1.5);
}

static void anything_fits(void **state)
{
    uint64_t seed = 2;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        int64_t m = 1 + unit_random(&seed, 1 << unit_random(&seed, 20));
        int64_t n = 1 + unit_random(&seed, 1 << unit_random(&seed, 20));
        int64_t k = unit_random(&seed, 1 << unit_random(&seed, 20));
        rungi_outofcore_limits limits = {.memory = 1024 + unit_random(&seed, 1 << unit_random(&seed, 28)),
                                         .min_blocks = 1 + unit_random(&seed, 40)};
        limits.max_buffer_bytes = i % 3 ? 0 : limits.memory / 4;
        rung_outofcore_blocking blocking = chosen(m, n, k, 4, limits);
        check_blocking(&blocking, m, n, k, 4, limits);
        if (m >= 2 * limits.min_blocks)
            assert_true(blocking.row_blocks * blocking.col_blocks >= limits.min_blocks);
    }
}

/* The example of the documentation: its numbers follow from the sizes alone. */
static void ten_times_256_mib(void **state)
{
    rungi_outofcore_limits limits = {.memory = 256 << 20, .min_blocks = 1};
    (void)state;
    rung_outofcore_blocking blocking = chosen(14953, 14953, 14953, 4, limits);
    assert_int_equal(blocking.row_blocks, 2);
    assert_int_equal(blocking.col_blocks, 2);
    assert_true(blocking.panel_depth >= 256);
    assert_true((double)(blocking.read_bytes + blocking.written_bytes) <= 1.1 * blocking.bound_bytes);
}

static void memory_is_used_up_by_panels(void **state)
{
    rungi_outofcore_limits limits = {.memory = 1 << 30, .min_blocks = 1};
    (void)state;
    rung_outofcore_blocking blocking = chosen(1000, 1000, 100000, 4,
                                              limits); /* all of C stays: panels as deep as is of use */
    assert_int_equal(blocking.row_blocks * blocking.col_blocks, 1);
    assert_int_equal(blocking.panel_depth, 2048);
    blocking = chosen(1000, 1000, 1000, 4, limits); /* and not so deep that the first is waited for */
    assert_true(blocking.panels >= 4);
}

static void invalid_limits_are_rejected(void **state)
{
    rungi_outofcore_sizes sizes = {.m = 100, .n = 100, .k = 100, .input_bytes = 8, .sum_bytes = 8, .output_bytes = 8};
    rungi_outofcore_limits limits = {.memory = 16, .min_blocks = 1};
    rung_outofcore_blocking blocking;
    (void)state;
    assert_int_equal(rungi_blocking_choose(&sizes, &limits, &blocking), RUNG_STATUS_INVALID);
    limits.memory = 0;
    assert_int_equal(rungi_blocking_choose(&sizes, &limits, &blocking), RUNG_STATUS_INVALID);
    sizes = (rungi_outofcore_sizes){
        .m = INT64_MAX / 8, .n = 1, .k = INT64_MAX / 8, .input_bytes = 4, .sum_bytes = 4, .output_bytes = 4};
    limits.memory = 1 << 20;
    assert_int_equal(rungi_blocking_choose(&sizes, &limits, &blocking), RUNG_STATUS_TOO_LARGE);
    blocking = (rung_outofcore_blocking){.block_rows = 1, .block_cols = 1, .panel_depth = 0, .memory_bytes = 1};
    assert_int_equal(rungi_blocking_count(&sizes, &blocking), RUNG_STATUS_INVALID);
}

static void empty_problems_have_block_sizes(void **state)
{
    rungi_outofcore_limits limits = {.memory = 4096, .min_blocks = 1};
    (void)state;
    rung_outofcore_blocking blocking = chosen(0, 5, 7, 4, limits);
    assert_int_equal(blocking.written_bytes, 0);
    blocking = chosen(5, 7, 0, 4, limits);
    assert_int_equal(blocking.read_bytes, 0);
    assert_int_equal(blocking.panels, 1);
    assert_int_equal(blocking.panel_depth, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_cubes_stay_near_the_bound),
        cmocka_unit_test(other_shapes_stay_near_the_bound),
        cmocka_unit_test(anything_fits),
        cmocka_unit_test(ten_times_256_mib),
        cmocka_unit_test(memory_is_used_up_by_panels),
        cmocka_unit_test(invalid_limits_are_rejected),
        cmocka_unit_test(empty_problems_have_block_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
