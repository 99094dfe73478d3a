/* SPDX-License-Identifier: Apache-2.0 */
/* exact.c - the exact judge of large results sees one wrong element anywhere: in one
 * matrix, in an item of a batch, in a narrow type and behind an epilogue. */
#include "naive.h"

#include "verify/freivalds.h"

enum { M = 37, N = 29, K = 53 };

static float a_data[M * K], b_data[K * N], c_data[M * N];

static bool check_exact(void)
{
    char why[128] = "";
    rung_matrix a = rung_matrix_of(RUNG_F32, M, K, a_data), b = rung_matrix_of(RUNG_F32, K, N, b_data);
    rung_matrix c = rung_matrix_of(RUNG_F32, M, N, c_data);
    rung_problem problem = rung_problem_of(a, b, c);
    bool right = lab_freivalds_check(&problem, 5, why, sizeof why);
    assert_int_equal(right, why[0] == '\0');
    return right;
}

static int set_up(void **state)
{
    (void)state;
    rung_matrix a = rung_matrix_of(RUNG_F32, M, K, a_data), b = rung_matrix_of(RUNG_F32, K, N, b_data);
    lab_fill_small_integers(&a, 1, 1, 1);
    lab_fill_small_integers(&b, 1, 1, 2);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            c_data[i * N + j] = 0;
            for (int p = 0; p < K; p++)
                c_data[i * N + j] += a_data[i * K + p] * b_data[p * N + j];
        }
    return 0;
}

static void test_right_is_right(void **state)
{
    (void)state;
    assert_true(check_exact());
}

static void test_each_element_counts(void **state)
{
    (void)state;
    for (int i = 0; i < M * N; i++) {
        float kept = c_data[i];
        c_data[i] += 1;
        assert_false(check_exact());
        c_data[i] = kept;
    }
    assert_true(check_exact());
}

static void test_nan_results(void **state)
{
    const float wrong[] = {NAN, INFINITY, 0.5f, 1e30f};
    (void)state;
    for (int i = 0; i < 4; i++) {
        float kept = c_data[7];
        c_data[7] = wrong[i];
        assert_false(check_exact());
        c_data[7] = kept;
    }
}

static void test_every_bit_counts(void **state)
{
    (void)state;
    float kept = c_data[7];
    c_data[7] = nextafterf(kept, INFINITY);
    assert_false(check_exact());
    c_data[7] = kept;
}

/* Two errors that cancel in a plain sum of the row. */
static void test_errors_that_cancel(void **state)
{
    (void)state;
    c_data[3 * N + 4] += 5;
    c_data[3 * N + 20] -= 5;
    assert_false(check_exact());
    c_data[3 * N + 4] -= 5;
    c_data[3 * N + 20] += 5;
    assert_true(check_exact());
}

/* ---- Batches, narrow types, epilogues ----------------------------------------------------------- */

enum { ITEM = NAIVE_M * NAIVE_N, ITEM_K = 40 };

static double bias_memory[NAIVE_ITEMS * ITEM], residual_memory[ITEM];
static const int64_t places[] = {2 * NAIVE_M * ITEM_K, 0, 2 * NAIVE_M *ITEM_K, NAIVE_M *ITEM_K};

static naive_t batch_of(lab_type_pair product, int64_t k)
{
    naive_t naive = naive_create(product, k);
    rung_problem *problem = &naive.problem;
    problem->batch = NAIVE_ITEMS;
    problem->a.batch_stride = NAIVE_M * k;
    problem->b.batch_stride = k * NAIVE_N;
    problem->c.batch_stride = naive.before.batch_stride = ITEM;
    lab_fill_small_integers(&problem->a, NAIVE_ITEMS, 1, 1);
    lab_fill_small_integers(&problem->b, NAIVE_ITEMS, 1, 2);
    return naive;
}

static rung_matrix filled(rung_type type, void *memory, int64_t items, uint64_t stream)
{
    rung_matrix matrix = rung_matrix_of(type, NAIVE_M, NAIVE_N, memory);
    matrix.batch_stride = items > 1 ? ITEM : 0;
    lab_fill_small_integers(&matrix, items, 1, stream);
    return matrix;
}

static bool check_exact_batch(const rung_problem *problem)
{
    char why[128] = "";
    bool right = lab_freivalds_check(problem, 5, why, sizeof why);
    assert_int_equal(right, why[0] == '\0');
    return right;
}

/* More than one and more than rounding to any of the types explains. */
static double off(double value)
{
    return value + 1 + fabs(value) / 64;
}

/* A right result passes, and no element of no item may be another. */
static void expect_each_to_count(const naive_t *naive)
{
    naive_multiply(naive);
    assert_true(check_exact_batch(&naive->problem));
    for (int64_t item = 0; item < naive->problem.batch; item++)
        for (int64_t i = 0; i < ITEM; i++) {
            rung_matrix c = lab_batch_item(&naive->problem.c, item);
            double kept = lab_element_get(&c, i / NAIVE_N, i % NAIVE_N);
            lab_element_set(&c, i / NAIVE_N, i % NAIVE_N, lab_type_is_integer(c.type) || i % 2 ? off(kept) : NAN);
            assert_false(check_exact_batch(&naive->problem));
            lab_element_set(&c, i / NAIVE_N, i % NAIVE_N, kept);
        }
    assert_true(check_exact_batch(&naive->problem));
}

static void test_batches_of_each_product(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++) {
        naive_t naive = batch_of(lab_type_pair_at(product), ITEM_K);
        expect_each_to_count(&naive);
    }
}

/* Sums that pass what C's type holds exactly: rounded they are right. */
static void test_sums_too_large_to_be_exact(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++) {
        rung_type out = lab_type_pair_at(product).out;
        if (out != RUNG_F16 && out != RUNG_BF16)
            continue;
        naive_t naive = batch_of(lab_type_pair_at(product), 450);
        rung_matrix all_a = naive.problem.a, all_b = naive.problem.b;
        all_a.rows *= NAIVE_ITEMS;
        all_b.rows *= NAIVE_ITEMS;
        naive_make_positive(&all_a);
        naive_make_positive(&all_b);
        expect_each_to_count(&naive);
        assert_true(lab_element_get(&naive.problem.c, 0, 0) > lab_type_exact_integer_max(out));
    }
}

static void test_batches_by_offsets(void **state)
{
    (void)state;
    naive_t naive = batch_of(lab_type_pair_of(RUNG_F32, RUNG_F32), ITEM_K);
    naive.problem.a.batch_offsets = places;
    expect_each_to_count(&naive);
    naive.problem.a.batch_offsets = NULL;
    assert_false(check_exact_batch(&naive.problem));
}

/* A bias, an activation and a residual, the same for all items, and none of them left out. */
static void expect_epilogue_to_count(lab_type_pair product, bool bias, bool activation, bool residual)
{
    rung_type out = product.out;
    naive_t naive = batch_of(product, ITEM_K);
    rung_problem *epilogue = &naive.problem;
    if (bias)
        epilogue->bias = filled(out, bias_memory, 1, 3);
    if (activation)
        epilogue->activation = lab_type_is_integer(out) ? RUNG_ACTIVATION_RELU : RUNG_ACTIVATION_GELU;
    if (residual)
        epilogue->residual = filled(out, residual_memory, 1, 4);
    expect_each_to_count(&naive);
    epilogue->activation = RUNG_ACTIVATION_NONE;
    epilogue->bias = epilogue->residual = (rung_matrix){0};
    assert_false(check_exact_batch(&naive.problem));
}

static void test_epilogues(void **state)
{
    const lab_type_pair products[] = {lab_type_pair_of(RUNG_F32, RUNG_F32), lab_type_pair_of(RUNG_F16, RUNG_F16),
                                      lab_type_pair_of(RUNG_BF16, RUNG_F32), lab_type_pair_of(RUNG_F64, RUNG_F64),
                                      lab_type_pair_of(RUNG_I8, RUNG_I32)};
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int parts = 1; parts < 8; parts++)
            expect_epilogue_to_count(products[i], parts & 1, parts & 2, parts & 4);
}

static void test_a_bias_of_each_item(void **state)
{
    (void)state;
    naive_t naive = batch_of(lab_type_pair_of(RUNG_F32, RUNG_F32), ITEM_K);
    naive.problem.bias = filled(RUNG_F32, bias_memory, NAIVE_ITEMS, 3);
    expect_each_to_count(&naive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_is_right),
        cmocka_unit_test(test_each_element_counts),
        cmocka_unit_test(test_nan_results),
        cmocka_unit_test(test_every_bit_counts),
        cmocka_unit_test(test_errors_that_cancel),
        cmocka_unit_test(test_batches_of_each_product),
        cmocka_unit_test(test_sums_too_large_to_be_exact),
        cmocka_unit_test(test_batches_by_offsets),
        cmocka_unit_test(test_epilogues),
        cmocka_unit_test(test_a_bias_of_each_item),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
