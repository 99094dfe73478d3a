/* SPDX-License-Identifier: Apache-2.0 */
/* separate_output.c - rung_problem.d: a result that is stored in another matrix than C. What is checked, and results on the CPU,
 * by plans, and in panels on OpenCL, against loops. Numbers are small and whole: every result is exact. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>

enum { M = 5, N = 6, K = 7, ITEMS = 3, SPACE = 4096 };

static float a_data[SPACE], b_data[SPACE], c_data[SPACE], d_data[SPACE], before[SPACE], bias_data[SPACE];

static rung_problem problem_with_d(void)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a_data),
                                           rung_matrix_of(RUNG_F32, K, N, b_data),
                                           rung_matrix_of(RUNG_F32, M, N, c_data));
    problem.d = rung_matrix_of(RUNG_F32, M, N, d_data);
    problem.alpha = 2;
    problem.beta = -3;
    return problem;
}

static void fill_all(uint64_t seed)
{
    float *all[] = {a_data, b_data, c_data, d_data, bias_data};
    for (int i = 0; i < 5; i++)
        unit_fill(&seed, all[i], SPACE);
}

static int64_t offset_of(const rung_matrix *view, int64_t item, int64_t i, int64_t j)
{
    int64_t first = view->batch_offsets ? view->batch_offsets[item] : item * view->batch_stride;
    return view->offset + first + i * view->row_stride + j * view->col_stride;
}

static float element(const rung_matrix *view, int64_t item, int64_t i, int64_t j)
{
    return ((const float *)view->data)[offset_of(view, item, i, j)];
}

/* What D's memory must become, gaps included. */
static void expect(const rung_problem *problem, float *expected)
{
    memcpy(expected, problem->d.data, SPACE * sizeof *expected);
    for (int64_t item = 0; item < (problem->batch ? problem->batch : 1); item++)
        for (int64_t i = 0; i < problem->d.rows; i++)
            for (int64_t j = 0; j < problem->d.cols; j++) {
                double sum = 0;
                for (int64_t p = 0; p < problem->a.cols && problem->alpha != 0; p++)
                    sum += (double)element(&problem->a, item, i, p) * element(&problem->b, item, p, j);
                sum *= problem->alpha;
                if (problem->beta != 0)
                    sum += problem->beta * element(&problem->c, item, i, j);
                if (problem->bias.rows > 0)
                    sum += element(&problem->bias, item, i, j);
                if (problem->activation == RUNG_ACTIVATION_RELU && sum < 0)
                    sum = 0;
                expected[offset_of(&problem->d, item, i, j)] = (float)sum;
            }
}

static void assert_multiplied(rung_context *context, const rung_problem *problem)
{
    static float expected[SPACE];
    bool is_apart = problem->c.data != problem->d.data;
    memcpy(before, c_data, sizeof before);
    expect(problem, expected);
    rung_status status = rung_multiply(context, problem, NULL);
    if (status != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_memory_equal(problem->d.data, expected, sizeof expected);
    if (is_apart)
        assert_memory_equal(c_data, before, sizeof before);
}

/* ---- Checks -------------------------------------------------------------------------------------------- */

static void invalid_problems_are_rejected(void **state)
{
    static const int64_t descending[] = {60, 0, 30}, ascending[] = {0, 30, 60};
    (void)state;
    rung_problem problem = problem_with_d();
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.d.type = RUNG_F16;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_UNSUPPORTED);
    problem = problem_with_d();
    problem.d.type = RUNG_TYPE_NONE; /* sizes and memory, and no type */
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    problem = problem_with_d();
    problem.d.rows = M - 1;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    problem = problem_with_d();
    problem.c.cols = N - 1;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    problem = problem_with_d();
    problem.d.row_stride = 0; /* an output repeats nothing */
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_ALIASED);
    assert_non_null(strstr(rung_error_text(), "D,"));
    problem = problem_with_d();
    problem.c.row_stride = 0; /* an input may */
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem = problem_with_d();
    problem.d.data = NULL;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    problem = problem_with_d();
    problem.d.data = c_data; /* the same view */
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.d.offset = 1;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_ALIASED);
    assert_non_null(strstr(rung_error_text(), "D overlaps C"));
    problem.d.offset = 0;
    problem.d = rung_matrix_transpose(rung_matrix_of(RUNG_F32, N, M, c_data)); /* the same memory in another order */
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_ALIASED);
    problem = problem_with_d();
    problem.d.data = a_data;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_ALIASED);
    problem = problem_with_d();
    problem.c.data = a_data; /* an input */
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem = problem_with_d();
    problem.batch = ITEMS;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_ALIASED); /* D's items are one */
    problem.c.batch_offsets = descending;
    problem.d.batch_offsets = ascending;
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.d.batch_offsets = descending;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
}

/* With beta = 0, C is ignored. */
static void c_may_be_missing(void **state)
{
    (void)state;
    fill_all(3);
    rung_problem problem = problem_with_d();
    problem.c = (rung_matrix){.type = RUNG_TYPE_NONE};
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    problem.beta = 1e-60; /* 0 in the type of the sums */
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.beta = 0;
    assert_multiplied(NULL, &problem);
    problem.c = rung_matrix_of(RUNG_F64, 99, 1, NULL);
    assert_multiplied(NULL, &problem);
}

/* ---- Results on the CPU -------------------------------------------------------------------------------- */

/* Dense, transposed, with gaps, spread; and broadcast, for C alone. */
enum { LAYOUTS = 4 };

static void set_layout(rung_matrix *view, int layout)
{
    if (layout == 1)
        *view = rung_matrix_transpose(rung_matrix_of(RUNG_F32, view->cols, view->rows, view->data));
    view->batch_stride = 70;
    view->offset = layout;
    if (layout == 2)
        view->row_stride = view->cols + 3;
    if (layout == 3) {
        view->row_stride = 2 * view->cols + 1;
        view->col_stride = 2;
    }
    if (layout == LAYOUTS)
        view->row_stride = 0;
}

static void check_layouts(rung_context *context, bool has_epilogue)
{
    static const int64_t of_c[] = {170, 0, 90}, of_d[] = {7, 130, 260};
    for (int d = 0; d < LAYOUTS; d++)
        for (int c = 0; c <= LAYOUTS; c++)
            for (int way = 0; way < 3; way++) {
                rung_problem problem = problem_with_d();
                fill_all((uint64_t)(10 * d + c));
                set_layout(&problem.c, c);
                set_layout(&problem.d, d);
                problem.batch = way == 0 ? 1 : ITEMS;
                problem.a.batch_stride = way == 1 ? M * K : 0;
                if (way == 2) {
                    problem.c.batch_offsets = of_c;
                    problem.d.batch_offsets = of_d;
                }
                if (has_epilogue) {
                    problem.activation = RUNG_ACTIVATION_RELU;
                    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, N, bias_data), M, N);
                }
                problem.alpha = (d + c) % 3 == 0 ? 0 : 2;
                assert_multiplied(context, &problem);
            }
}

static void results_match_plain_loops(void **state)
{
    (void)state;
    check_layouts(NULL, false);
    check_layouts(NULL, true);
}

/* Large enough to be split between threads. */
static void threads_use_d(void **state)
{
    enum { SIDE = 300 };
    static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE], d[SIDE * SIDE];
    uint64_t seed = 8;
    rung_context_options options = rung_context_options_default();
    rung_context *context;
    (void)state;
    options.threads = 4;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    unit_fill(&seed, a, SIDE * SIDE);
    unit_fill(&seed, b, SIDE * SIDE);
    unit_fill(&seed, c, SIDE * SIDE);
    for (int turned = 0; turned < 2; turned++) {
        rung_matrix view = rung_matrix_of(RUNG_F32, SIDE, SIDE, d);
        rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, SIDE, SIDE, a),
                                               rung_matrix_of(RUNG_F32, SIDE, SIDE, b),
                                               rung_matrix_of(RUNG_F32, SIDE, SIDE, c));
        problem.d = turned ? rung_matrix_transpose(view) : view;
        problem.beta = 2;
        assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
        for (int64_t i = 0; i < SIDE; i += 7)
            for (int64_t j = 0; j < SIDE; j++) {
                float sum = 2 * c[i * SIDE + j];
                for (int64_t p = 0; p < SIDE; p++)
                    sum += a[i * SIDE + p] * b[p * SIDE + j];
                assert_true(*unit_at(&problem.d, i, j) == sum);
            }
    }
    rung_context_destroy(context);
}

/* The same view twice is C alone; and calls with and without a D follow each other on kept plans. */
static void cached_plans_distinguish_d(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        rung_problem problem = problem_with_d();
        fill_all((uint64_t)i);
        if (i % 3 == 1)
            problem.d = problem.c;
        if (i % 4 == 3)
            problem.beta = 0;
        assert_multiplied(NULL, &problem);
        rung_problem plain = problem, same = problem;
        plain.c = problem.d;
        plain.d = (rung_matrix){.type = RUNG_TYPE_NONE};
        plain.beta = 0;
        same.d = plain.c;
        same.beta = 0;
        memcpy(before, d_data, sizeof before);
        assert_int_equal(rung_multiply(NULL, &plain, NULL), RUNG_OK);
        assert_multiplied(NULL, &same);
    }
}

/* ---- Plans --------------------------------------------------------------------------------------------- */

static void plans_reject_other_forms(void **state)
{
    rung_device *device;
    rung_queue *queue;
    rung_plan *plan;
    static float expected[SPACE];
    (void)state;
    fill_all(9);
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    rung_problem problem = problem_with_d(), form = problem, other;
    form.a.data = form.b.data = form.c.data = form.d.data = NULL; /* memory is not needed */
    assert_int_equal(rung_plan_create(device, &form, NULL, &plan), RUNG_OK);
    expect(&problem, expected);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    assert_memory_equal(d_data, expected, sizeof expected);
    problem.beta = 0;
    expect(&problem, expected);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    assert_memory_equal(d_data, expected, sizeof expected);
    problem.beta = 1;
    other = problem;
    other.d.row_stride = N + 1;
    assert_int_equal(rung_plan_run(plan, queue, &other, NULL), RUNG_STATUS_INVALID);
    other = problem;
    other.c.row_stride = N + 1;
    assert_int_equal(rung_plan_run(plan, queue, &other, NULL), RUNG_STATUS_INVALID);
    other = problem;
    other.d = (rung_matrix){.type = RUNG_TYPE_NONE};
    assert_int_equal(rung_plan_run(plan, queue, &other, NULL), RUNG_STATUS_INVALID);
    rung_plan_destroy(plan);

    form.beta = 0; /* then C is never read */
    assert_int_equal(rung_plan_create(device, &form, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "beta"));
    problem.beta = 0;
    expect(&problem, expected);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    assert_memory_equal(d_data, expected, sizeof expected);
    rung_plan_destroy(plan);
    rung_queue_destroy(queue);
    rung_device_close(device);
}

/* ---- The log ------------------------------------------------------------------------------------------- */

static char last_line[8192];

static void keep_line(void *user, const char *line)
{
    (void)user;
    snprintf(last_line, sizeof last_line, "%s", line);
}

static void the_log_has_the_command(void **state)
{
    rung_context_options options = rung_context_options_default();
    rung_context *context;
    (void)state;
    options.verbose = 1;
    options.log = keep_line;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    rung_problem problem = problem_with_d();
    fill_all(5);
    problem.c.row_stride = N + 2;
    problem.d.row_stride = N + 3;
    assert_multiplied(context, &problem);
    assert_non_null(strstr(last_line, " --c-strides 8,1 --d-strides 9,1,0,0 "));
    assert_null(strstr(last_line, "--epilogue"));
    problem.beta = 0;
    assert_multiplied(context, &problem);
    assert_non_null(strstr(last_line, " --c-strides 9,1 "));
    assert_null(strstr(last_line, "--d-strides"));
    rung_context_destroy(context);
}

/* ---- A device with memory of its own ----------------------------------------------------------------------- */

static rung_context *opencl_context(int64_t overlap)
{
    rung_context_options options = rung_context_options_default();
    rung_context *context;
    rung_device *device;
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%lld", (long long)overlap);
    setenv("RUNG_OVERLAP", bytes, 1);
    options.device = "opencl";
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    unsetenv("RUNG_OVERLAP");
    if (rung_device_open(context, "opencl", &device) == RUNG_OK) {
        rung_device_close(device);
        return context;
    }
    rung_context_destroy(context);
    return NULL;
}

/* Whole, and in panels: of rows, of columns and of items. */
static void panels_use_d(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        int64_t m = way == 1 ? 70 : way == 2 ? 20 : M, n = way == 1 ? 20 : way == 2 ? 70 : N;
        rung_context *context = opencl_context(way == 0 ? 0 : 64);
        if (!context)
            skip();
        rung_problem problem = problem_with_d();
        fill_all((uint64_t)way);
        problem.a = rung_matrix_of(RUNG_F32, m, K, a_data);
        problem.b = rung_matrix_of(RUNG_F32, K, n, b_data);
        problem.c = rung_matrix_of(RUNG_F32, m, n, c_data);
        problem.d = rung_matrix_of(RUNG_F32, m, n, d_data);
        set_layout(&problem.c, way);
        set_layout(&problem.d, way == 2 ? 1 : way);
        problem.batch = way == 3 ? ITEMS : 1;
        assert_multiplied(context, &problem);
        problem.beta = 0;
        assert_multiplied(context, &problem);
        rung_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_problems_are_rejected), cmocka_unit_test(c_may_be_missing),
        cmocka_unit_test(results_match_plain_loops),     cmocka_unit_test(threads_use_d),
        cmocka_unit_test(cached_plans_distinguish_d),    cmocka_unit_test(plans_reject_other_forms),
        cmocka_unit_test(the_log_has_the_command),       cmocka_unit_test(panels_use_d),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
