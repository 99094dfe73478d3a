/* SPDX-License-Identifier: Apache-2.0 */
/* cold_copies.c - copies that take turns: enough of them, each its own memory, all with the numbers they should have,
 * and none left out; and what normally distributed inputs are. */
#include "bench/bench_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/contender.h"

enum { M = 24, N = 20, K = 28, BATCH = 2 };

static rung_device *device;
static rung_queue *queue;

static int open_device(void **state)
{
    (void)state;
    return rung_device_open(NULL, "cpu", &device) == RUNG_OK && rung_queue_create(device, &queue) == RUNG_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    rung_queue_destroy(queue);
    rung_device_close(device);
    return 0;
}

static void every_copy_is_used(void **state)
{
    static float a[BATCH * M * K], b[BATCH * K * N], copy[BATCH * M * K];
    rung_matrix a_view = rung_matrix_of(RUNG_F32, M, K, a), b_view = rung_matrix_of(RUNG_F32, K, N, b);
    rung_matrix c_view = rung_matrix_of(RUNG_F32, M, N, NULL);
    rung_problem problem = rung_problem_of(a_view, b_view, c_view);
    lab_cold_copies *sets;
    (void)state;
    for (int i = 0; i < BATCH * M * K; i++)
        a[i] = (float)i;
    assert_int_equal(lab_cold_copies_create(device, &a_view, &b_view, &c_view, BATCH, &sets), RUNG_OK);
    assert_true(sets->target_bytes == 2 * lab_device_last_level_cache(rung_device_describe(device)));
    assert_true(sets->bytes > sets->target_bytes && sets->count > 2);
    assert_int_equal(lab_cold_copies_fill(sets, queue, a, b), RUNG_OK);

    char *seen = calloc((size_t)sets->count, 1);
    assert_non_null(seen);
    for (int64_t i = 0; i < sets->count; i++) {
        rung_problem turn = lab_cold_copies_next(sets, &problem);
        assert_true(turn.a.buffer == sets->a.buffer && turn.c.buffer == sets->c.buffer && !turn.a.data);
        assert_int_equal(turn.a.offset * 4 % 256, 0); /* where a plan for the first may go */
        int64_t set = turn.a.offset / sets->a.stride_elements;
        assert_true(turn.b.offset == set * sets->b.stride_elements && turn.c.offset == set * sets->c.stride_elements);
        assert_in_range(set, 0, sets->count - 1);
        assert_int_equal(seen[set], 0);
        seen[set] = 1;
    }
    free(seen);
    assert_true(sets->a.stride_elements >= BATCH * M * K && sets->b.stride_elements >= BATCH * K * N &&
                sets->c.stride_elements >= BATCH * M * N);
    const int64_t some[] = {0, sets->count / 2, sets->count - 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            rung_buffer_read(queue, sets->a.buffer, some[i] * sets->a.stride_bytes, sizeof copy, copy, NULL), RUNG_OK);
        assert_int_equal(rung_queue_finish(queue), RUNG_OK);
        assert_memory_equal(copy, a, sizeof a);
    }
    lab_cold_copies_destroy(sets);
    lab_cold_copies_destroy(NULL);
}

/* Two of a matrix that is larger than the cache, and no set of nothing. */
static void minimum_number_of_copies(void **state)
{
    rung_matrix empty = rung_matrix_of(RUNG_F32, 0, 0, NULL);
    lab_cold_copies *sets;
    (void)state;
    assert_int_equal(lab_cold_copies_create(device, &empty, &empty, &empty, 1, &sets), RUNG_OK);
    assert_true(sets->count >= 2);
    lab_cold_copies_destroy(sets);
}

static void inputs(void **state)
{
    lab_bench_problem problem = {.device = device,
                                 .queue = queue,
                                 .product = {RUNG_I8, RUNG_I32, RUNG_TYPE_NONE},
                                 .size = {64, 48, 50},
                                 .batch = 1};
    int64_t large = 0, outside = 0;
    (void)state;
    assert_int_equal(lab_inputs_of("normal"), LAB_INPUTS_NORMAL);
    assert_int_equal(lab_inputs_of("zeros"), LAB_INPUTS_COUNT);
    assert_int_equal(lab_bench_problem_create(&problem), RUNG_OK);
    signed char before[64 * 50], *a = problem.a.on_host.data;
    memcpy(before, a, sizeof before);
    assert_int_equal(lab_bench_problem_fill(&problem, LAB_INPUTS_NORMAL, 5), RUNG_OK);
    for (int i = 0; i < 64 * 50; i++) {
        large += abs(a[i]) > 32;
        outside += a[i] == -128;
    }
    assert_in_range(large, 64 * 50 / 4, 64 * 50 * 2 / 5); /* beyond one deviation */
    assert_int_equal(outside, 0);
    signed char there[64 * 50];
    assert_int_equal(rung_buffer_read(queue, problem.a.on_device.buffer, 0, sizeof there, there, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    assert_memory_equal(there, a, sizeof there);
    assert_int_equal(lab_bench_problem_fill(&problem, LAB_INPUTS_WHOLE, 5), RUNG_OK);
    assert_memory_equal(before, a, sizeof before);
    lab_bench_problem_destroy(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_copy_is_used),
        cmocka_unit_test(minimum_number_of_copies),
        cmocka_unit_test(inputs),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
