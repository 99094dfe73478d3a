/* SPDX-License-Identifier: Apache-2.0 */
/* checked_products.c - rung_multiply and rung_group_multiply with the option `checked`. flips.c makes random errors; here are
 * the results without errors, the failures, and what is not checked. */
#include "core/checked/checked_multiply.h"
#include "core/checked/product_check_types.h"
#include "core/problem.h"
#include "support/unit.h"

#include <math.h>

enum { M = 37, N = 50, K = 44, ITEMS = 3 };

static float a_data[ITEMS * M * K], b_data[ITEMS * K * N], bias_data[N], other_data[M * N];
static float c_data[ITEMS * M * N], expected_data[ITEMS * M * N];

static int fill(void **state)
{
    uint64_t seed = 11;
    (void)state;
    unit_clean_environment();
    unit_fill(&seed, a_data, ITEMS * M * K);
    unit_fill(&seed, b_data, ITEMS * K * N);
    unit_fill(&seed, bias_data, N);
    unit_fill(&seed, other_data, M * N);
    unit_fill(&seed, c_data, ITEMS * M * N);
    memcpy(expected_data, c_data, sizeof c_data);
    return 0;
}

static rung_problem problem_of(float *c)
{
    return rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a_data), rung_matrix_of(RUNG_F32, K, N, b_data),
                           rung_matrix_of(RUNG_F32, M, N, c));
}

/* Multiplies with and without checks, and compares. Numbers are whole, so results are equal. */
static void assert_same_results(const rung_problem *given)
{
    rung_problem problem = *given;
    rung_multiply_options options = rung_multiply_options_default();
    int64_t corrected = -1;
    options.checked = 1;
    options.corrected = &corrected;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
    assert_int_equal(corrected, 0);
    problem.c.data = expected_data;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_memory_equal(c_data, expected_data, sizeof c_data);
}

static void plain_products(void **state)
{
    (void)state;
    rung_problem problem = problem_of(c_data);
    assert_same_results(&problem);
    problem.alpha = -2;
    assert_same_results(&problem);
    problem.alpha = 0;
    assert_same_results(&problem);
    problem.a.cols = problem.b.rows = 0;
    assert_same_results(&problem);
}

static void epilogues(void **state)
{
    (void)state;
    rung_problem problem = problem_of(c_data);
    problem.beta = 3;
    assert_same_results(&problem);
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, N, bias_data), M, N);
    problem.activation = RUNG_ACTIVATION_RELU;
    problem.multiplier = problem.residual = rung_matrix_of(RUNG_F32, M, N, other_data);
    assert_same_results(&problem);
    problem = problem_of(other_data);
    problem.beta = 2;
    problem.d = rung_matrix_of(RUNG_F32, M, N, c_data);
    rung_problem unchecked = problem;
    rung_multiply_options options = rung_multiply_options_default();
    options.checked = 1;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
    unchecked.d.data = expected_data;
    assert_int_equal(rung_multiply(NULL, &unchecked, NULL), RUNG_OK);
    assert_memory_equal(c_data, expected_data, sizeof c_data);
}

/* Curved activations have rounding errors, in both. */
static void curved_activations(void **state)
{
    (void)state;
    for (rung_activation kind = RUNG_ACTIVATION_GELU; kind <= RUNG_ACTIVATION_SILU; kind++) {
        rung_multiply_options options = rung_multiply_options_default();
        options.checked = 1;
        rung_problem problem = problem_of(c_data), unchecked = problem_of(expected_data);
        problem.alpha = unchecked.alpha = 0.01;
        problem.activation = unchecked.activation = kind;
        assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
        assert_int_equal(rung_multiply(NULL, &unchecked, NULL), RUNG_OK);
        for (int i = 0; i < M * N; i++)
            assert_true(fabsf(c_data[i] - expected_data[i]) < 1e-5f);
    }
}

static void batches(void **state)
{
    static const int64_t offsets[] = {2 * M * K, 0, M * K};
    (void)state;
    rung_problem problem = problem_of(c_data);
    problem.batch = ITEMS;
    problem.a.batch_stride = M * K;
    problem.b.batch_stride = K * N;
    problem.c.batch_stride = M * N;
    assert_same_results(&problem);
    problem.a.batch_offsets = offsets;
    problem.beta = 1;
    assert_same_results(&problem);
}

static void groups(void **state)
{
    (void)state;
    rung_problem problems[2] = {problem_of(c_data), problem_of(c_data + M * N)};
    rung_group group = rung_group_of(problems, 2);
    rung_multiply_options options = rung_multiply_options_default();
    int64_t corrected = -1;
    options.checked = 1;
    options.corrected = &corrected;
    problems[1].b = rung_matrix_block(problems[1].b, 0, 0, K, 7);
    problems[1].c = rung_matrix_block(problems[1].c, 0, 0, M, 7);
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_OK);
    assert_int_equal(corrected, 0);
    problems[0].c.data = expected_data;
    problems[1].c.data = expected_data + M * N;
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_OK);
    assert_memory_equal(c_data, expected_data, sizeof c_data);
    problems[1].c.data = c_data;
    options.checked = 2;
    assert_int_equal(rung_group_multiply(NULL, &group, &options), RUNG_STATUS_INVALID);
}

static void invalid_options(void **state)
{
    (void)state;
    rung_problem problem = problem_of(c_data);
    rung_multiply_options options = rung_multiply_options_default();
    options.checked = 2;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_STATUS_INVALID);
    assert_string_equal(rung_error_text(), "checked is 2; it must be 1, or 0 for a multiplication without checks");
}

/* Infinities and NaN give the same results, and no correction. */
static void numbers_that_are_not_finite(void **state)
{
    (void)state;
    rung_problem problem = problem_of(c_data);
    float a_before = a_data[5 * K + 3], b_before = b_data[7 * N + 9];
    a_data[5 * K + 3] = INFINITY;
    b_data[7 * N + 9] = NAN;
    rung_multiply_options options = rung_multiply_options_default();
    int64_t corrected = -1;
    options.checked = 1;
    options.corrected = &corrected;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
    assert_int_equal(corrected, 0);
    problem.c.data = expected_data;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    for (int i = 0; i < M * N; i++)
        assert_true(c_data[i] == expected_data[i] || (isnan(c_data[i]) && isnan(expected_data[i])));
    a_data[5 * K + 3] = a_before;
    b_data[7 * N + 9] = b_before;
}

/* Sums that overflow in F32 are no errors. */
static void overflow(void **state)
{
    (void)state;
    rung_problem problem = problem_of(c_data);
    rung_multiply_options options = rung_multiply_options_default();
    int64_t corrected = -1;
    float before[K];
    options.checked = 1;
    options.corrected = &corrected;
    memcpy(before, a_data, sizeof before);
    for (int i = 0; i < K; i++)
        a_data[i] = 3e38f;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
    assert_int_equal(corrected, 0);
    memcpy(a_data, before, sizeof before);
}

/* With a large k, weights come from a sample. NaN and infinity outside the sample must have no effect on other lines. */
static void weights_from_a_sample(void **state)
{
    enum { ROWS = 20, COLS = 600, DEPTH = 1100 }; /* more columns than a tile of sums has */
    static float a[ROWS * DEPTH], b[DEPTH * COLS], c[ROWS * COLS], expected[ROWS * COLS];
    uint64_t seed = 5;
    (void)state;
    unit_fill(&seed, a, ROWS * DEPTH);
    unit_fill(&seed, b, DEPTH * COLS);
    for (int round = 0; round < 2; round++) {
        rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, ROWS, DEPTH, a),
                                               rung_matrix_of(RUNG_F32, DEPTH, COLS, b),
                                               rung_matrix_of(RUNG_F32, ROWS, COLS, c));
        rung_multiply_options options = rung_multiply_options_default();
        int64_t corrected = -1;
        options.checked = 1;
        options.corrected = &corrected;
        assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
        assert_int_equal(corrected, 0);
        problem.c.data = expected;
        assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
        for (int i = 0; i < ROWS * COLS; i++)
            assert_true(c[i] == expected[i] || (isnan(c[i]) && isnan(expected[i])));
        a[2 * DEPTH + 100] = INFINITY;
        b[9 * COLS + 3] = NAN;
    }
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static rung_status multiply_and_spoil_c(void *user, const rung_problem *normalized)
{
    rung_status status = rung_multiply(NULL, normalized, NULL);
    (void)user;
    ((float *)normalized->c.data)[3 * N + 4] += 1;
    ((float *)normalized->c.data)[3 * N + 5] = NAN;
    ((float *)normalized->c.data)[30 * N + 40] = INFINITY;
    return status;
}

static void errors_are_corrected(void **state)
{
    rungi_unchecked unchecked = {.multiply = multiply_and_spoil_c};
    rung_problem problem = problem_of(c_data), good = problem_of(expected_data);
    int64_t corrected;
    (void)state;
    rungi_problem_normalize(&problem);
    assert_int_equal(rung_multiply(NULL, &good, NULL), RUNG_OK);
    assert_int_equal(rungi_multiply_and_check(rungi_context_or_default(NULL), &unchecked, &problem, &corrected),
                     RUNG_OK);
    assert_int_equal(corrected, 3);
    assert_memory_equal(c_data, expected_data, sizeof c_data);
}

/* The check begins before this change and ends after it. */
static rung_status change_a_and_multiply(void *user, const rung_problem *normalized)
{
    (void)user;
    ((float *)normalized->a.data)[5] += 100;
    return rung_multiply(NULL, normalized, NULL);
}

static void changed_inputs_are_reported(void **state)
{
    rungi_unchecked unchecked = {.multiply = change_a_and_multiply};
    rung_problem problem = problem_of(c_data);
    float before = a_data[5];
    int64_t corrected;
    (void)state;
    rungi_problem_normalize(&problem);
    assert_int_equal(rungi_multiply_and_check(rungi_context_or_default(NULL), &unchecked, &problem, &corrected),
                     RUNG_STATUS_CORRUPTED);
    assert_non_null(strstr(rung_error_text(), "A or B changed during the call"));
    a_data[5] = before;
}

static void assert_finite(const rungi_check_axis *axis, const rungi_check_axis *other, int64_t unchecked)
{
    for (int64_t line = 0; line < axis->count; line++)
        assert_int_equal(axis->weights[line] == 0, line == unchecked);
    for (int64_t tile = 0; tile < other->tiles; tile++)
        for (int64_t line = 0; line < axis->count; line++)
            assert_true(line == unchecked || isfinite(axis->expected[tile * axis->padded + line]));
}

/* If a NaN of one column were part of the sums of rows, all rows would be computed twice. */
static void sums_are_finite_beside_infinities(void **state)
{
    rung_problem problem = problem_of(c_data);
    rungi_product_check *check;
    (void)state;
    a_data[5 * K + 3] = INFINITY;
    b_data[7 * N + 9] = NAN;
    rungi_problem_normalize(&problem);
    assert_int_equal(rungi_product_check_begin(rungi_context_or_default(NULL), NULL, &problem, RUNG_F32, false, &check),
                     RUNG_OK);
    assert_finite(&check->rows, &check->cols, 5);
    assert_finite(&check->cols, &check->rows, 9);
    rungi_product_check_cancel(check);
}

/* Multiplies after a change of A, which the check must report. `depth`: with 1100, weights come from a sample. */
static void assert_change_is_reported(int64_t depth, bool has_infinity, bool has_nan)
{
    enum { ROWS = 20, COLS = 24, DEPTH = 1100 };
    static float a[ROWS * DEPTH], b[DEPTH * COLS], c[ROWS * COLS];
    rungi_unchecked unchecked = {.multiply = change_a_and_multiply};
    uint64_t seed = 5;
    int64_t corrected;
    unit_fill(&seed, a, ROWS * DEPTH);
    unit_fill(&seed, b, DEPTH * COLS);
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, ROWS, depth, a),
                                           rung_matrix_of(RUNG_F32, depth, COLS, b),
                                           rung_matrix_of(RUNG_F32, ROWS, COLS, c));
    if (has_infinity)
        a[2 * depth + 100] = INFINITY; /* not in the sample */
    if (has_nan)
        b[9 * COLS + 3] = NAN;
    rungi_problem_normalize(&problem);
    assert_int_equal(rungi_multiply_and_check(rungi_context_or_default(NULL), &unchecked, &problem, &corrected),
                     RUNG_STATUS_CORRUPTED);
}

/* A row or a column that is not finite must not hide an error in the others: its elements are no part of their sums. */
static void changes_beside_infinities_are_reported(void **state)
{
    (void)state;
    for (int64_t depth = 200; depth <= 1100; depth += 900)
        for (int i = 0; i < 4; i++)
            assert_change_is_reported(depth, i & 1, i & 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(plain_products, fill),
        cmocka_unit_test_setup(epilogues, fill),
        cmocka_unit_test_setup(curved_activations, fill),
        cmocka_unit_test_setup(batches, fill),
        cmocka_unit_test_setup(groups, fill),
        cmocka_unit_test_setup(invalid_options, fill),
        cmocka_unit_test_setup(numbers_that_are_not_finite, fill),
        cmocka_unit_test_setup(overflow, fill),
        cmocka_unit_test_setup(weights_from_a_sample, fill),
        cmocka_unit_test_setup(errors_are_corrected, fill),
        cmocka_unit_test_setup(changed_inputs_are_reported, fill),
        cmocka_unit_test_setup(sums_are_finite_beside_infinities, fill),
        cmocka_unit_test_setup(changes_beside_infinities_are_reported, fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
