/* SPDX-License-Identifier: Apache-2.0 */
/* checked_runs.c - runs of plans with the option `checked` (rung_run_options), and the option `device` of rung_multiply, on
 * devices that make errors. */
#include <math.h>
#include <stdio.h>

#include "support/spoiled_device.h"
#include "support/unit.h"

enum { M = 37, N = 50, K = 44, OFFSET = 24 };

static float a_data[M * K], b_data[K * N], c_data[M * N], bias_data[N], expected_data[M * N];
static rung_device *device;
static rung_queue *queue;

static int open_cpu(void **state)
{
    uint64_t seed = 3;
    (void)state;
    unit_clean_environment();
    unit_fill(&seed, a_data, M * K);
    unit_fill(&seed, b_data, K * N);
    unit_fill(&seed, bias_data, N);
    unit_fill(&seed, c_data, M * N);
    memcpy(expected_data, c_data, sizeof c_data);
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK || rung_queue_create(device, &queue) != RUNG_OK)
        return -1;
    spoil_device(device);
    return 0;
}

static int close_cpu(void **state)
{
    (void)state;
    repair_device(device);
    rung_queue_destroy(queue);
    rung_device_close(device);
    return 0;
}

static rung_problem problem_of(float *c)
{
    return rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a_data), rung_matrix_of(RUNG_F32, K, N, b_data),
                           rung_matrix_of(RUNG_F32, M, N, c));
}

static rung_run_options checked_options(int64_t *corrected)
{
    rung_run_options options = rung_run_options_default();
    options.checked = 1;
    options.corrected = corrected;
    return options;
}

static rung_status run_once(const rung_problem *problem, const rung_run_options *options)
{
    rung_plan *plan;
    if (rung_plan_create(device, problem, NULL, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    rung_status status = rung_plan_run(plan, queue, problem, options);
    rung_plan_destroy(plan);
    return status;
}

/* Runs a plan that makes an error, and compares with the result of another device. */
static void assert_corrected(const rung_problem *given)
{
    rung_problem problem = *given;
    int64_t corrected = -1;
    rung_run_options options = checked_options(&corrected);
    assert_int_equal(run_once(&problem, &options), RUNG_OK);
    assert_int_equal(corrected, 1);
    assert_int_equal(spoiled_runs, 1);
    problem.c.data = expected_data;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_memory_equal(c_data, expected_data, sizeof c_data);
}

static void products_are_corrected(void **state)
{
    (void)state;
    rung_problem problem = problem_of(c_data);
    assert_corrected(&problem);
}

/* The plan computes more than the product, so the product needs its own plan. */
static void products_of_epilogues_are_corrected(void **state)
{
    (void)state;
    rung_problem problem = problem_of(c_data);
    problem.beta = -2;
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, N, bias_data), M, N);
    problem.activation = RUNG_ACTIVATION_RELU;
    assert_corrected(&problem);
}

/* Copies a matrix to a buffer of the CPU, and describes it there. */
static rung_matrix in_buffer(rung_matrix view, rung_buffer **buffer)
{
    int64_t bytes = view.rows * view.cols * rung_type_size(view.type);
    assert_int_equal(rung_buffer_create(device, bytes + OFFSET * 4, buffer), RUNG_OK);
    assert_int_equal(rung_buffer_write(queue, *buffer, (int64_t)OFFSET * 4, bytes, view.data, NULL), RUNG_OK);
    return rung_matrix_in_buffer(view.type, view.rows, view.cols, *buffer, OFFSET);
}

static void buffers_of_the_cpu(void **state)
{
    rung_buffer *buffers[4];
    rung_problem problem = problem_of(c_data), expected = problem_of(expected_data);
    int64_t corrected = -1;
    rung_run_options options = checked_options(&corrected);
    (void)state;
    problem.beta = expected.beta = 3;
    expected.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, N, bias_data), M, N);
    problem.a = in_buffer(problem.a, &buffers[0]);
    problem.b = in_buffer(problem.b, &buffers[1]);
    problem.c = in_buffer(problem.c, &buffers[2]);
    problem.bias = rung_matrix_broadcast(in_buffer(rung_matrix_of(RUNG_F32, 1, N, bias_data), &buffers[3]), M, N);
    assert_int_equal(run_once(&problem, &options), RUNG_OK);
    assert_int_equal(corrected, 1);
    assert_int_equal(rung_buffer_read(queue, buffers[2], (int64_t)OFFSET * 4, sizeof c_data, c_data, NULL), RUNG_OK);
    assert_int_equal(rung_multiply(NULL, &expected, NULL), RUNG_OK);
    assert_memory_equal(c_data, expected_data, sizeof c_data);
    for (int i = 0; i < 4; i++)
        rung_buffer_destroy(buffers[i]);
}

/* B is I8 with scales in a buffer. */
static void scales_in_a_buffer(void **state)
{
    static int8_t b[K * N];
    float scale = 0.5;
    rung_buffer *buffer;
    rung_quantization quantization = rung_quantization_default();
    int64_t corrected = -1;
    rung_run_options options = checked_options(&corrected);
    (void)state;
    for (int i = 0; i < K * N; i++)
        b[i] = (int8_t)(2 * b_data[i]);
    quantization.scales = in_buffer(rung_matrix_of(RUNG_F32, 1, 1, &scale), &buffer);
    rung_problem problem = problem_of(c_data);
    problem.b = rung_matrix_of(RUNG_I8, K, N, b);
    problem.b_quantization = &quantization;
    assert_int_equal(run_once(&problem, &options), RUNG_OK);
    assert_int_equal(corrected, 1);
    problem = problem_of(expected_data);
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_memory_equal(c_data, expected_data, sizeof c_data);
    rung_buffer_destroy(buffer);
}

static void runs_without_checks_keep_errors(void **state)
{
    rung_problem problem = problem_of(c_data);
    int64_t corrected = -1;
    rung_run_options options = checked_options(&corrected);
    (void)state;
    options.checked = 0;
    assert_int_equal(run_once(&problem, &options), RUNG_OK);
    assert_int_equal(corrected, 0);
    problem.c.data = expected_data;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_memory_not_equal(c_data, expected_data, sizeof c_data);
}

static void changed_inputs_are_reported(void **state)
{
    rung_problem problem = problem_of(c_data);
    rung_run_options options = checked_options(NULL);
    (void)state;
    spoiled_input = &a_data[5];
    assert_int_equal(run_once(&problem, &options), RUNG_STATUS_CORRUPTED);
    assert_non_null(strstr(rung_error_text(), "A or B changed during the call"));
}

static void invalid_options(void **state)
{
    rung_problem problem = problem_of(c_data);
    rung_run_options options = checked_options(NULL);
    (void)state;
    options.checked = -1;
    assert_int_equal(run_once(&problem, &options), RUNG_STATUS_INVALID);
    assert_string_equal(rung_error_text(), "checked is -1; it must be 1, or 0 for a multiplication without checks");
}

static void packed_b_is_rejected(void **state)
{
    rung_problem problem = problem_of(c_data);
    rung_plan_options plan_options = rung_plan_options_default();
    rung_run_options options = checked_options(NULL);
    rung_plan *plan;
    (void)state;
    plan_options.packed_b = 1;
    assert_int_equal(rung_plan_create(device, &problem, &plan_options, &plan), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &options.packed_b), RUNG_OK);
    assert_int_equal(rung_plan_pack_b(plan, queue, &problem.b, options.packed_b, NULL), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "the plan has a packed B"));
    rung_buffer_destroy(options.packed_b);
    rung_plan_destroy(plan);
}

/* The option `device` of rung_multiply. */
static void multiply_on_another_device(void **state)
{
    rung_problem problem = problem_of(c_data);
    rung_multiply_options options = rung_multiply_options_default();
    rung_group group = rung_group_of(&problem, 1);
    int64_t corrected = -1;
    (void)state;
    options.device = device;
    options.checked = 1;
    options.corrected = &corrected;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
    assert_int_equal(corrected, 1);
    assert_int_equal(spoiled_runs, 1);
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_OK);
    assert_int_equal(spoiled_runs, 2);
    options.checked = 0;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
    assert_int_equal(spoiled_runs, 3);
}

static void device_of_another_context(void **state)
{
    rung_problem problem = problem_of(c_data);
    rung_multiply_options options = rung_multiply_options_default();
    rung_group group = rung_group_of(&problem, 1);
    rung_context *other;
    (void)state;
    options.device = device;
    assert_int_equal(rung_context_create(NULL, &other), RUNG_OK);
    assert_int_equal(rung_multiply(other, &problem, &options), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "the device cpu belongs to another context"));
    assert_int_equal(rung_group_multiply(other, &group, &options), RUNG_STATUS_INVALID);
    rung_context_destroy(other);
}

/* A device with its own memory: plans are rejected, and rung_multiply corrects an error of each copy from the device. */
static void device_memory(void **state)
{
    rung_problem problem = problem_of(c_data);
    rung_device *own;
    rung_queue *own_queue;
    rung_plan *plan;
    rung_buffer *buffers[3];
    rung_run_options run = checked_options(NULL);
    rung_multiply_options options = rung_multiply_options_default();
    int64_t corrected = -1;
    (void)state;
    if (rung_device_open(NULL, "opencl", &own) != RUNG_OK)
        skip();
    rung_matrix *views[] = {&problem.a, &problem.b, &problem.c};
    assert_int_equal(rung_queue_create(own, &own_queue), RUNG_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rung_buffer_create(own, views[i]->rows * views[i]->cols * 4, &buffers[i]), RUNG_OK);
        *views[i] = rung_matrix_in_buffer(RUNG_F32, views[i]->rows, views[i]->cols, buffers[i], 0);
    }
    assert_int_equal(rung_plan_create(own, &problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, own_queue, &problem, &run), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "call rung_multiply with `checked`"));
    rung_plan_destroy(plan);
    for (int i = 0; i < 3; i++)
        rung_buffer_destroy(buffers[i]);
    rung_queue_destroy(own_queue);

    repair_device(device);
    spoil_device(own);
    problem = problem_of(c_data);
    options.device = own;
    options.checked = 1;
    options.corrected = &corrected;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
    assert_true(spoiled_runs > 0);
    assert_int_equal(corrected, spoiled_runs);
    problem.c.data = expected_data;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_memory_equal(c_data, expected_data, sizeof c_data);
    repair_device(own);
    rung_device_close(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(products_are_corrected, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(products_of_epilogues_are_corrected, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(buffers_of_the_cpu, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(scales_in_a_buffer, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(runs_without_checks_keep_errors, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(changed_inputs_are_reported, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(invalid_options, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(packed_b_is_rejected, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(multiply_on_another_device, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(device_of_another_context, open_cpu, close_cpu),
        cmocka_unit_test_setup_teardown(device_memory, open_cpu, close_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
