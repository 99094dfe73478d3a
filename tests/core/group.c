/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - rung_group_multiply(): which groups are rejected and that the error names the problem, structs of other
 * versions, empty groups, and groups of thousands of problems on the CPU, compared with single multiplications. The test
 * verify_group checks results for all types and layouts. */
#include "support/unit.h"

#include <stdio.h>

enum { M = 3, N = 4, K = 5, ITEMS = 4, SPACE = 4096 };

static float a_data[SPACE], b_data[SPACE], c_data[SPACE], bias_data[SPACE];
static rung_problem problems[ITEMS];

/* Four valid problems of different heights with a common B. */
static void reset_problems(void)
{
    uint64_t seed = 7;
    unit_fill(&seed, a_data, SPACE);
    unit_fill(&seed, b_data, SPACE);
    unit_fill(&seed, bias_data, SPACE);
    memset(c_data, 0, sizeof c_data);
    for (int i = 0; i < ITEMS; i++)
        problems[i] = rung_problem_of(rung_matrix_of(RUNG_F32, M + i, K, a_data + 64 * i),
                                      rung_matrix_of(RUNG_F32, K, N, b_data),
                                      rung_matrix_of(RUNG_F32, M + i, N, c_data + 64 * i));
}

static rung_status multiply(void)
{
    rung_group group = rung_group_of(problems, ITEMS);
    return rung_group_multiply(NULL, &group, NULL);
}

static void assert_right(const rung_problem *problem)
{
    assert_int_equal(unit_first_wrong(&problem->a, &problem->b, &problem->c), -1);
}

/* Checks the status, that the text names the problem, and that no output was written. */
static void assert_rejected(rung_status expected, const char *name)
{
    float before[SPACE];
    memcpy(before, c_data, sizeof before);
    rung_status status = multiply();
    if (status != expected || !strstr(rung_error_text(), name))
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
    assert_memory_equal(c_data, before, sizeof before);
    reset_problems();
}

static void valid_groups_are_multiplied(void **state)
{
    (void)state;
    reset_problems();
    assert_int_equal(multiply(), RUNG_OK);
    for (int i = 0; i < ITEMS; i++)
        assert_right(&problems[i]);
}

static void invalid_arguments(void **state)
{
    (void)state;
    rung_group group = rung_group_of(NULL, 0);
    assert_int_equal(rung_group_multiply(NULL, NULL, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_OK);
    group.count = 1;
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_STATUS_INVALID);
    group = rung_group_of(problems, -1);
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_STATUS_INVALID);
    group = rung_group_of(problems, INT64_MAX);
    reset_problems();
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_STATUS_TOO_LARGE);
    group = rung_group_of(problems, ITEMS);
    group.size = 0;
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_STATUS_INVALID);
    group = rung_group_of(problems, ITEMS);
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = -1;
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_STATUS_INVALID);
}

static void each_problem_is_checked(void **state)
{
    (void)state;
    reset_problems();
    problems[2].b.rows++;
    assert_rejected(RUNG_STATUS_INVALID, "problem 2");
    problems[3].c.data = NULL;
    assert_rejected(RUNG_STATUS_INVALID, "problem 3");
    problems[1].c.row_stride = 2;
    assert_rejected(RUNG_STATUS_ALIASED, "problem 1");
    problems[1].batch = 2;
    assert_rejected(RUNG_STATUS_INVALID, "problem 1");
    problems[0].batch = 0; /* one item */
    assert_int_equal(multiply(), RUNG_OK);
    reset_problems();
    problems[0].size = 0;
    assert_rejected(RUNG_STATUS_INVALID, "problem 0");
    problems[3].size -= 8;
    assert_rejected(RUNG_STATUS_INVALID, "problem 3");
    problems[3].c.buffer = (rung_buffer *)(void *)problems;
    problems[3].c.data = NULL;
    assert_rejected(RUNG_STATUS_INVALID, "problem 3");
}

static void problems_must_have_one_form(void **state)
{
    (void)state;
    reset_problems();
    problems[2].c.type = RUNG_BF16;
    assert_rejected(RUNG_STATUS_INVALID, "problem 2");
    problems[1].a.type = RUNG_BF16;
    assert_rejected(RUNG_STATUS_INVALID, "problem 1 of the group: the types are bf16 x f32 into f32");
    problems[3].b.type = RUNG_BF16;
    assert_rejected(RUNG_STATUS_INVALID, "problem 3 of the group: the types are f32 x bf16 into f32");
    problems[1].activation = RUNG_ACTIVATION_RELU;
    assert_rejected(RUNG_STATUS_INVALID, "problem 1");
    problems[1].compute = RUNG_COMPUTE_BF16X3;
    assert_rejected(RUNG_STATUS_INVALID, "problem 1");
    problems[3].bias = rung_matrix_of(RUNG_F32, M + 3, N, bias_data);
    assert_rejected(RUNG_STATUS_INVALID, "problem 3");
    problems[3].residual = rung_matrix_of(RUNG_F32, M + 3, N, bias_data);
    assert_rejected(RUNG_STATUS_INVALID, "problem 3");
    problems[3].multiplier = rung_matrix_of(RUNG_F32, M + 3, N, bias_data);
    assert_rejected(RUNG_STATUS_INVALID, "problem 3");
    for (int i = 1; i < ITEMS; i++) /* the first problem stores nothing and needs no bias */
        problems[i].bias = rung_matrix_of(RUNG_F32, M + i, N, bias_data);
    problems[0].a.rows = problems[0].c.rows = 0;
    assert_int_equal(multiply(), RUNG_OK);
    problems[2].bias.rows = 0;
    assert_rejected(RUNG_STATUS_INVALID, "problem 2");
}

static void outputs_must_be_apart(void **state)
{
    (void)state;
    reset_problems();
    problems[3].c.data = problems[1].c.data;
    assert_rejected(RUNG_STATUS_ALIASED, "problem");
    problems[3].c.data = c_data + (M + 1) * N + 63; /* the last element of problem 1 */
    assert_rejected(RUNG_STATUS_ALIASED, "problem");
    problems[3].c.data = c_data + (M + 1) * N + 64; /* the first one after it */
    problems[2].c.data = c_data + 1024;
    assert_int_equal(multiply(), RUNG_OK);
    reset_problems();
    problems[0].a.data = problems[3].c.data; /* an input of another problem */
    assert_rejected(RUNG_STATUS_ALIASED, "problem 0");
    problems[0].a.data = (float *)problems[3].c.data + (M + 3) * N - 1; /* the last element */
    assert_rejected(RUNG_STATUS_ALIASED, "problem 0");
    problems[3].b.data = problems[0].c.data;
    assert_rejected(RUNG_STATUS_ALIASED, "problem 3");
    for (int i = 0; i < ITEMS; i++)
        problems[i].bias = rung_matrix_of(RUNG_F32, M + i, N, bias_data);
    problems[2].bias.data = c_data + 64;
    assert_rejected(RUNG_STATUS_ALIASED, "problem 2");
    for (int i = 0; i < ITEMS; i++)
        problems[i].residual = rung_matrix_of(RUNG_F32, M + i, N, bias_data);
    problems[1].residual.data = c_data;
    assert_rejected(RUNG_STATUS_ALIASED, "problem 1");
    for (int i = 0; i < ITEMS; i++)
        problems[i].multiplier = rung_matrix_of(RUNG_F32, M + i, N, bias_data);
    problems[1].multiplier.data = c_data;
    assert_rejected(RUNG_STATUS_ALIASED, "problem 1");
    for (int i = 0; i < ITEMS; i++) {
        problems[i].d = rung_matrix_of(RUNG_F32, M + i, N, c_data + 1024 + 64 * i);
        problems[i].beta = 1;
    }
    problems[1].c.data = c_data + 1024 + 64 * 2; /* C is read, and is the D of problem 2 */
    assert_rejected(RUNG_STATUS_ALIASED, "problem 1");
}

/* Each problem of a group has its own multiplier; the bits are those of single multiplications. */
static void multipliers_of_a_group(void **state)
{
    float expected[SPACE];
    (void)state;
    for (int is_group = 0; is_group < 2; is_group++) {
        reset_problems();
        for (int i = 0; i < ITEMS; i++) {
            problems[i].activation = RUNG_ACTIVATION_SILU;
            problems[i].multiplier = rung_matrix_of(RUNG_F32, M + i, N, bias_data + 64 * i);
            if (!is_group)
                assert_int_equal(rung_multiply(NULL, &problems[i], NULL), RUNG_OK);
        }
        if (!is_group)
            memcpy(expected, c_data, sizeof expected);
    }
    assert_int_equal(multiply(), RUNG_OK);
    assert_memory_equal(c_data, expected, sizeof expected);
}

/* A caller may want the number of corrections or not. */
static void checked_groups(void **state)
{
    int64_t corrected = -1;
    rung_group group = rung_group_of(problems, ITEMS);
    rung_multiply_options options = rung_multiply_options_default();
    (void)state;
    options.checked = 1;
    for (int has_count = 0; has_count < 2; has_count++) {
        reset_problems();
        options.corrected = has_count ? &corrected : NULL;
        assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_OK);
        for (int i = 0; i < ITEMS; i++)
            assert_right(&problems[i]);
        assert_int_equal(corrected, has_count ? 0 : -1);
    }
    options.checked = 2;
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_STATUS_INVALID);
}

/* A long output range that begins first must be found behind short ones. */
static void long_ranges_are_found(void **state)
{
    (void)state;
    reset_problems();
    problems[0].c.row_stride = 1000;
    problems[0].a.data = a_data + 2048;                /* apart */
    assert_int_equal(multiply(), RUNG_STATUS_ALIASED); /* other strides: the address ranges count */
    for (int i = 0; i < ITEMS; i++) {                  /* column blocks of one matrix */
        problems[i].c.row_stride = ITEMS * N;
        problems[i].c.data = c_data + i * N;
    }
    assert_int_equal(multiply(), RUNG_OK);
    for (int i = 0; i < ITEMS; i++)
        assert_right(&problems[i]);
    problems[3].c.data = c_data + 3 * N - 1;
    assert_rejected(RUNG_STATUS_ALIASED, "problem");
}

static void empty_problems_are_skipped(void **state)
{
    (void)state;
    for (int empty = 0; empty < ITEMS; empty++)
        for (int which = 0; which < 3; which++) {
            reset_problems();
            rung_problem *problem = &problems[empty];
            memset(problem->c.data, 0xff, (M + (size_t)empty) * N * sizeof(float)); /* NaN, unless stored */
            if (which == 0)
                problem->a.rows = problem->c.rows = 0;
            if (which == 1)
                problem->b.cols = problem->c.cols = 0;
            if (which == 2)
                problem->a.cols = problem->b.rows = 0; /* C becomes 0 */
            assert_int_equal(multiply(), RUNG_OK);
            for (int i = 0; i < ITEMS; i++)
                assert_right(&problems[i]);
            assert_int_equal(*(unsigned *)problem->c.data, which == 2 ? 0 : 0xffffffffu);
        }
    for (int i = 0; i < ITEMS; i++)
        problems[i].a.rows = problems[i].c.rows = 0;
    assert_int_equal(multiply(), RUNG_OK);
}

/* An array of structs of a later version, with fields that this version does not know. */
static void larger_structs_are_stepped_over(void **state)
{
    struct {
        rung_problem problem;
        int64_t unknown;
    } newer[ITEMS];
    (void)state;
    reset_problems();
    memset(newer, 0, sizeof newer);
    for (int i = 0; i < ITEMS; i++) {
        newer[i].problem = problems[i];
        newer[i].problem.size = sizeof *newer;
    }
    rung_group group = rung_group_of(&newer[0].problem, ITEMS);
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_OK);
    for (int i = 0; i < ITEMS; i++)
        assert_right(&problems[i]);
    newer[2].unknown = 1;
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "problem 2"));
}

/* Thousands of small problems with many forms, twice, on several numbers of threads. More forms than stay cached. */
static void many_problems(void **state)
{
    enum { COUNT = 3000, PART = 400 };
    rung_problem *many = malloc(COUNT * sizeof *many);
    float *memory = malloc((size_t)COUNT * 3 * PART * sizeof *memory);
    rung_context_options context_options = rung_context_options_default();
    rung_context *context;
    uint64_t seed = 3;
    (void)state;
    context_options.verbose = -1;
    context_options.threads = 3;
    assert_true(many && memory);
    assert_int_equal(rung_context_create(&context_options, &context), RUNG_OK);
    unit_fill(&seed, memory, (int64_t)COUNT * 3 * PART);
    for (int i = 0; i < COUNT; i++) {
        float *at = memory + (size_t)i * 3 * PART;
        int64_t m = unit_random(&seed, 20), n = unit_random(&seed, 20), k = unit_random(&seed, 20);
        many[i] = rung_problem_of(rung_matrix_of(RUNG_F32, m, k, at), rung_matrix_of(RUNG_F32, k, n, at + PART),
                                  rung_matrix_of(RUNG_F32, m, n, at + 2 * PART));
    }
    rung_group group = rung_group_of(many, COUNT);
    rung_multiply_options options = rung_multiply_options_default();
    for (options.threads = 0; options.threads < 3; options.threads++) {
        assert_int_equal(rung_group_multiply(context, &group, &options), RUNG_OK);
        for (int i = 0; i < COUNT; i++) {
            assert_right(&many[i]);
            memset(many[i].c.data, 0xff, PART * sizeof *memory);
        }
    }
    rung_context_destroy(context);
    free(many);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_groups_are_multiplied),
        cmocka_unit_test(invalid_arguments),
        cmocka_unit_test(each_problem_is_checked),
        cmocka_unit_test(problems_must_have_one_form),
        cmocka_unit_test(outputs_must_be_apart),
        cmocka_unit_test(multipliers_of_a_group),
        cmocka_unit_test(checked_groups),
        cmocka_unit_test(long_ranges_are_found),
        cmocka_unit_test(empty_problems_are_skipped),
        cmocka_unit_test(larger_structs_are_stepped_over),
        cmocka_unit_test(many_problems),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
