/* SPDX-License-Identifier: Apache-2.0 */
/* group_packed.c - groups whose B are packed: the bits are those of plans with a packed B, buffers may be shared, problems
 * that do not read B need none, and what is refused. */
#include "support/unit.h"

#include <stdio.h>

enum { ITEMS = 5, ROWS_MAX = 70, N = 45, K = 130, C_SPACE = ROWS_MAX * N };

static rung_device *device;
static rung_queue *queue;
static float a_data[ROWS_MAX * K], b_data[ITEMS * K * N], c_data[ITEMS * C_SPACE];
static rung_problem problems[ITEMS];
static rung_buffer *packed[ITEMS];

static rung_plan *plan_of(const rung_problem *problem)
{
    rung_plan *plan;
    rung_plan_options options = rung_plan_options_default();
    options.packed_b = 1;
    if (rung_plan_create(device, problem, &options, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return plan;
}

static rung_buffer *pack(const rung_problem *problem)
{
    rung_buffer *buffer;
    rung_plan *plan = plan_of(problem);
    assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &buffer), RUNG_OK);
    assert_int_equal(rung_plan_pack_b(plan, queue, &problem->b, buffer, NULL), RUNG_OK);
    rung_plan_destroy(plan);
    return buffer;
}

/* Problems with 1 to ROWS_MAX rows; each B is packed for a problem with other rows. */
static int set_up(void **state)
{
    static const int64_t rows[ITEMS] = {1, 17, ROWS_MAX, 0, 33};
    uint64_t seed = 5;
    (void)state;
    unit_fill(&seed, a_data, ROWS_MAX * K);
    unit_fill(&seed, b_data, ITEMS * K * N);
    for (int i = 0; i < ITEMS; i++) {
        problems[i] = rung_problem_of(rung_matrix_of(RUNG_F32, 8, K, a_data),
                                      rung_matrix_of(RUNG_F32, K, N, b_data + i * K * N),
                                      rung_matrix_of(RUNG_F32, 8, N, c_data + i * C_SPACE));
        packed[i] = pack(&problems[i]);
        problems[i].a.rows = problems[i].c.rows = rows[i];
        problems[i].b.data = NULL;
    }
    memset(c_data, 0xff, sizeof c_data);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < ITEMS; i++)
        rung_buffer_destroy(packed[i]);
    return 0;
}

static rung_status multiply_in(rung_context *context, int64_t threads)
{
    rung_group group = rung_group_of(problems, ITEMS);
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = threads;
    group.packed_b = packed;
    return rung_group_multiply(context, &group, &options);
}

static void multiply_one(int item, rung_problem problem, float *c)
{
    rung_plan *plan = plan_of(&problem);
    rung_run_options options = rung_run_options_default();
    options.packed_b = packed[item];
    problem.c.data = c;
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_OK);
    rung_plan_destroy(plan);
}

static void assert_rejected(rung_status expected, const char *part)
{
    static float before[ITEMS * C_SPACE];
    memcpy(before, c_data, sizeof before);
    rung_status status = multiply_in(NULL, 1);
    if (status != expected || !strstr(rung_error_text(), part))
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
    assert_memory_equal(c_data, before, sizeof before);
}

static void bits_are_those_of_plans(void **state)
{
    static float expected[C_SPACE];
    (void)state;
    for (int64_t threads = 1; threads <= 3; threads++) {
        memset(c_data, 0xff, sizeof c_data);
        if (multiply_in(NULL, threads) != RUNG_OK)
            fail_msg("%s", rung_error_text());
        for (int i = 0; i < ITEMS; i++) {
            memset(expected, 0xff, sizeof expected);
            multiply_one(i, problems[i], expected);
            assert_memory_equal(c_data + i * C_SPACE, expected, sizeof expected);
        }
    }
}

static void a_buffer_may_be_shared(void **state)
{
    static float expected[C_SPACE];
    (void)state;
    rung_buffer *second = packed[1];
    packed[1] = packed[0];
    assert_int_equal(multiply_in(NULL, 2), RUNG_OK);
    memset(expected, 0xff, sizeof expected);
    multiply_one(0, problems[1], expected);
    assert_memory_equal(c_data + C_SPACE, expected, sizeof expected);
    packed[1] = second;
}

/* Problem 3 has no rows. */
static void a_problem_that_does_not_read_b_needs_no_buffer(void **state)
{
    (void)state;
    rung_buffer *second = packed[1], *fourth = packed[3];
    packed[1] = packed[3] = NULL;
    problems[1].alpha = 0;
    assert_int_equal(multiply_in(NULL, 1), RUNG_OK);
    for (int i = 0; i < 17 * N; i++)
        assert_true(c_data[C_SPACE + i] == 0);
    problems[1].alpha = 1;
    assert_rejected(RUNG_STATUS_INVALID, "problem 1 of the group: its packed_b is NULL");
    packed[1] = second;
    packed[3] = fourth;
}

static void buffers_that_do_not_fit(void **state)
{
    rung_device *other_device;
    rung_buffer *second = packed[1], *last = packed[4], *small;
    rung_queue *other_queue;
    (void)state;
    assert_int_equal(rung_buffer_create(device, 64, &small), RUNG_OK);
    packed[1] = small;
    assert_rejected(RUNG_STATUS_INVALID, "packed B");
    packed[1] = second;
    rung_buffer_destroy(small);
    problems[4].b.cols = problems[4].c.cols = N - 1; /* packed for N columns */
    problems[4].b.row_stride = problems[4].c.row_stride = N;
    assert_rejected(RUNG_STATUS_INVALID, "n");
    problems[4].b.cols = problems[4].c.cols = N;
    assert_int_equal(rung_device_open(NULL, "cpu", &other_device), RUNG_OK);
    assert_int_equal(rung_queue_create(other_device, &other_queue), RUNG_OK);
    rung_device *first_device = device;
    rung_queue *first_queue = queue;
    device = other_device;
    queue = other_queue;
    problems[4].b.data = b_data;
    packed[4] = pack(&problems[4]);
    assert_rejected(RUNG_STATUS_INVALID, "problem 4 of the group: the packed B is on another device");
    rung_buffer_destroy(packed[4]);
    packed[4] = last;
    device = first_device;
    queue = first_queue;
    rung_queue_destroy(other_queue);
    rung_device_close(other_device);
}

static void other_contexts(void **state)
{
    rung_context *context;
    (void)state;
    assert_int_equal(rung_context_create(NULL, &context), RUNG_OK);
    assert_int_equal(multiply_in(context, 1), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "another context"));
    rung_context_destroy(context);
}

/* The device of the buffers is the only one that can read them; a check of the products needs B itself. */
static void options_that_do_not_fit(void **state)
{
    rung_device *other_device;
    rung_group group = rung_group_of(problems, ITEMS);
    rung_multiply_options options = rung_multiply_options_default();
    (void)state;
    group.packed_b = packed;
    options.device = device;
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_OK);
    assert_int_equal(rung_device_open(NULL, "cpu", &other_device), RUNG_OK);
    options.device = other_device;
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "leave the option `device` NULL"));
    rung_device_close(other_device);
    options.device = NULL;
    options.checked = 1;
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "packed B"));
    rung_buffer *buffers[ITEMS];
    memcpy(buffers, packed, sizeof buffers);
    memset(packed, 0, sizeof packed); /* no problem reads its B */
    for (int i = 0; i < ITEMS; i++)
        problems[i].alpha = 0;
    options.checked = 0;
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_OK);
    assert_true(c_data[0] == 0 && c_data[C_SPACE + 17 * N - 1] == 0);
    memcpy(packed, buffers, sizeof buffers);
    for (int i = 0; i < ITEMS; i++)
        problems[i].alpha = 1;
}

/* No output may lie in a buffer that another problem reads. */
static void outputs_must_be_apart_from_buffers(void **state)
{
    static _Alignas(64) char memory[1 << 16];
    rung_plan *plan = plan_of(&problems[0]);
    rung_buffer *first = packed[0], *wrapped;
    rung_matrix b = problems[0].b, c = problems[2].c;
    (void)state;
    b.data = b_data;
    assert_true(rung_plan_describe(plan)->packed_b_bytes <= (int64_t)sizeof memory);
    assert_int_equal(rung_buffer_wrap(device, memory, 0, sizeof memory, &wrapped), RUNG_OK);
    assert_int_equal(rung_plan_pack_b(plan, queue, &b, wrapped, NULL), RUNG_OK);
    packed[0] = wrapped;
    assert_int_equal(multiply_in(NULL, 1), RUNG_OK);
    problems[2].c.data = memory + 256;
    assert_rejected(RUNG_STATUS_ALIASED, "problem 0 of the group: the packed B overlaps the output of problem 2");
    problems[2].c = c;
    problems[0].c.data = memory + 256;
    assert_rejected(RUNG_STATUS_ALIASED, "problem 0 of the group: the packed B overlaps");
    packed[0] = first;
    rung_plan_destroy(plan);
    rung_buffer_destroy(wrapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bits_are_those_of_plans, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_buffer_may_be_shared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_problem_that_does_not_read_b_needs_no_buffer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(buffers_that_do_not_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_contexts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_that_do_not_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outputs_must_be_apart_from_buffers, set_up, tear_down),
    };
    unit_clean_environment();
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK || rung_queue_create(device, &queue) != RUNG_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rung_queue_destroy(queue);
    rung_device_close(device);
    return failed;
}
