/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_epilogues.c - the judge is judged on what follows a sum: each epilogue done as
 * written passes in every type, and each way to get it wrong is seen. */
#include "common/type_pair.h"
#include "naive.h"

#include "verify/cases.h"

enum { K = 64 };

static double bias_memory[NAIVE_M * NAIVE_N], residual_memory[NAIVE_M * NAIVE_N], multiplier_memory[NAIVE_M * NAIVE_N];

/* One number a row, one a column, or one an element. */
static rung_matrix make_bias(rung_type type, lab_bias kind)
{
    if (kind == LAB_BIAS_NONE)
        return (rung_matrix){0};
    rung_matrix bias = rung_matrix_of(type, kind == LAB_BIAS_COL ? 1 : NAIVE_M, kind == LAB_BIAS_ROW ? 1 : NAIVE_N,
                                      bias_memory);
    naive_fill(&bias, 4);
    return rung_matrix_broadcast(bias, NAIVE_M, NAIVE_N);
}

static naive_t with_epilogue(lab_type_pair product, lab_epilogue epilogue)
{
    naive_t naive = naive_create(product, K);
    rung_type out = product.out;
    naive.problem.beta = lab_type_is_integer(out) ? -5 : -0.5;
    naive.problem.bias = make_bias(out, epilogue.bias);
    naive.problem.activation = epilogue.activation;
    if (epilogue.residual) {
        naive.problem.residual = rung_matrix_of(out, NAIVE_M, NAIVE_N, residual_memory);
        naive_fill(&naive.problem.residual, 5);
    }
    return naive;
}

static bool takes(lab_type_pair product, rung_activation activation)
{
    return activation <= RUNG_ACTIVATION_RELU || !lab_type_is_integer(product.in);
}

/* Every product with every epilogue there is. */
static void test_correct_epilogues_pass(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++)
        for (int each = 0; each < LAB_BIAS_COUNT * LAB_ACTIVATION_COUNT * 2; each++) {
            lab_epilogue epilogue = {(lab_bias)(each / 2 / LAB_ACTIVATION_COUNT),
                                     (rung_activation)(each / 2 % LAB_ACTIVATION_COUNT), each % 2};
            if (!takes(lab_type_pair_at(product), epilogue.activation))
                continue;
            naive_t naive = with_epilogue(lab_type_pair_at(product), epilogue);
            naive_multiply(&naive);
            assert_true(naive_is_right(&naive));
        }
}

static void expect_seen(lab_epilogue epilogue, naive_slip_t slip)
{
    for (int product = 0; product < lab_type_pair_count(); product++) {
        if (lab_type_is_integer(lab_type_pair_at(product).in))
            continue;
        naive_t naive = with_epilogue(lab_type_pair_at(product), epilogue);
        naive.slip = slip;
        naive_multiply(&naive);
        assert_false(naive_is_right(&naive));
    }
}

static void test_missing_or_repeated_bias_is_detected(void **state)
{
    (void)state;
    for (int bias = LAB_BIAS_ROW; bias < LAB_BIAS_COUNT; bias++)
        for (int activation = 0; activation < LAB_ACTIVATION_COUNT; activation++) {
            lab_epilogue epilogue = {(lab_bias)bias, (rung_activation)activation, activation == RUNG_ACTIVATION_RELU};
            expect_seen(epilogue, NAIVE_NO_BIAS);
            expect_seen(epilogue, NAIVE_BIAS_TWICE);
        }
}

/* A bias a row where one a column is meant. */
static void test_bias_along_the_wrong_side_is_seen(void **state)
{
    (void)state;
    naive_t naive = with_epilogue(lab_type_pair_of(RUNG_F16, RUNG_F16),
                                  (lab_epilogue){LAB_BIAS_ROW, RUNG_ACTIVATION_NONE, false});
    naive_multiply(&naive);
    assert_true(naive_is_right(&naive));
    naive.problem.bias = make_bias(RUNG_F16, LAB_BIAS_COL);
    assert_false(naive_is_right(&naive));
}

static void test_another_order_is_seen(void **state)
{
    (void)state;
    for (int activation = RUNG_ACTIVATION_RELU; activation <= RUNG_ACTIVATION_SILU; activation++) {
        lab_epilogue epilogue = {LAB_BIAS_COL, (rung_activation)activation, true};
        expect_seen(epilogue, NAIVE_ACTIVATION_FIRST);
        expect_seen(epilogue, NAIVE_RESIDUAL_BEFORE);
        expect_seen(epilogue, NAIVE_NO_RESIDUAL);
    }
}

/* The two are 5e-4 apart at most. Where gelu comes near zero from below, the narrow types
 * show that too: no residual here, which would hide it. */
static void test_gelu_by_tanh_is_seen(void **state)
{
    (void)state;
    expect_seen((lab_epilogue){LAB_BIAS_NONE, RUNG_ACTIVATION_GELU, false}, NAIVE_TANH);
    expect_seen((lab_epilogue){LAB_BIAS_ROW, RUNG_ACTIVATION_GELU, false}, NAIVE_TANH);
}

static naive_t with_multiplier(lab_type_pair product)
{
    naive_t naive = with_epilogue(product, (lab_epilogue){LAB_BIAS_COL, RUNG_ACTIVATION_RELU, true});
    naive.problem.multiplier = rung_matrix_of(product.out, NAIVE_M, NAIVE_N, multiplier_memory);
    naive_fill(&naive.problem.multiplier, 6);
    return naive;
}

static void test_multiplier(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++) {
        naive_t naive = with_multiplier(lab_type_pair_at(product));
        naive_multiply(&naive);
        assert_true(naive_is_right(&naive));
        if (lab_type_is_integer(naive.product.in))
            continue;
        for (int slip = NAIVE_NO_MULTIPLIER; slip <= NAIVE_MULTIPLIER_LAST; slip++) {
            naive.slip = (naive_slip_t)slip;
            naive_multiply(&naive);
            assert_false(naive_is_right(&naive));
        }
    }
}

/* A large multiplier enlarges the error of the sum, and nothing else. */
static void test_a_multiplier_has_one_rounding(void **state)
{
    (void)state;
    naive_t naive = with_multiplier(lab_type_pair_of(RUNG_F32, RUNG_F32));
    naive.problem.residual = (rung_matrix){0};
    naive.problem.activation = RUNG_ACTIVATION_NONE;
    naive_make_positive(&naive.problem.a);
    naive_make_positive(&naive.problem.b);
    naive.problem.beta = 0;
    naive_set_all(&naive.problem.multiplier, 1000);
    naive_multiply(&naive);
    assert_true(naive_is_right(&naive));
    lab_element_set(&naive.problem.c, 0, 0, naive_next(&naive.problem.c, 0, 0, 4 * K));
    assert_false(naive_is_right(&naive));
}

/* Another activation, or none. */
static void test_another_activation_is_seen(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++)
        for (int done = 0; done < LAB_ACTIVATION_COUNT; done++)
            for (int asked = 0; asked < LAB_ACTIVATION_COUNT; asked++) {
                if (!takes(lab_type_pair_at(product), (rung_activation)done) ||
                    !takes(lab_type_pair_at(product), (rung_activation)asked))
                    continue;
                lab_epilogue epilogue = {LAB_BIAS_COL, (rung_activation)done, false};
                naive_t naive = with_epilogue(lab_type_pair_at(product), epilogue);
                naive_multiply(&naive);
                naive.problem.activation = (rung_activation)asked;
                assert_int_equal(naive_is_right(&naive), done == asked);
            }
}

static void test_an_integer_off_by_one_is_detected(void **state)
{
    const lab_type_pair products[] = {{RUNG_I8, RUNG_I32, RUNG_TYPE_NONE}, {RUNG_I32, RUNG_I32, RUNG_TYPE_NONE}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        naive_t naive = with_epilogue(products[i], (lab_epilogue){LAB_BIAS_FULL, RUNG_ACTIVATION_RELU, true});
        naive_multiply(&naive);
        assert_true(naive_is_right(&naive));
        lab_element_set(&naive.problem.c, 2, 2, naive_next(&naive.problem.c, 2, 2, 1));
        assert_false(naive_is_right(&naive));
    }
}

/* ---- Bounds ---------------------------------------------------------------------------------------- */

/* A sum of one product, x y, with an activation, and a result for all of its elements. */
static bool takes_as(lab_type_pair product, rung_activation activation, double x, double result)
{
    naive_t naive = naive_create(product, 1);
    naive_set_all(&naive.problem.a, x);
    naive_set_all(&naive.problem.b, 1);
    naive_set_all(&naive.problem.c, result);
    naive.problem.activation = activation;
    return naive_is_right(&naive);
}

/* Adding it rounds to its places, not to those of the sum. */
static void test_a_bias_larger_than_the_sum(void **state)
{
    (void)state;
    naive_t naive = with_epilogue(lab_type_pair_of(RUNG_F32, RUNG_F32),
                                  (lab_epilogue){LAB_BIAS_FULL, RUNG_ACTIVATION_NONE, false});
    for (int64_t i = 0; i < NAIVE_M * K; i++)
        lab_element_set(&naive.problem.a, i / K, i % K, 0x1p-20 * lab_element_get(&naive.problem.a, i / K, i % K));
    naive.problem.beta = 0;
    naive_multiply(&naive);
    assert_true(naive_is_right(&naive));
    naive.slip = NAIVE_NO_BIAS;
    naive_multiply(&naive);
    assert_false(naive_is_right(&naive));
}

static void test_a_residual_has_one_rounding(void **state)
{
    (void)state;
    naive_t naive = with_epilogue(lab_type_pair_of(RUNG_F32, RUNG_F32),
                                  (lab_epilogue){LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, true});
    naive_set_all(&naive.problem.residual, 1000);
    naive_multiply(&naive);
    assert_true(naive_is_right(&naive));
    lab_element_set(&naive.problem.c, 0, 0, naive_next(&naive.problem.c, 0, 0, 4));
    assert_false(naive_is_right(&naive));
}

/* What is below zero by more than rounding explains is 0 and nothing near it. */
static void test_relu_of_what_is_surely_negative(void **state)
{
    (void)state;
    naive_t naive = naive_create(lab_type_pair_of(RUNG_F32, RUNG_F32), 2);
    naive_set_all(&naive.problem.b, 1);
    for (int64_t row = 0; row < NAIVE_M; row++) {
        lab_element_set(&naive.problem.a, row, 0, 1e6);
        lab_element_set(&naive.problem.a, row, 1, -1e6 - 2);
    }
    naive.problem.activation = RUNG_ACTIVATION_RELU;
    naive_set_all(&naive.problem.c, 0);
    assert_true(naive_is_right(&naive));
    naive_set_all(&naive.problem.c, 0x1p-3);
    assert_false(naive_is_right(&naive));
}

/* OpenCL's erf may be 16 units in the last place off, which near -1 is much of gelu. */
static void test_gelu_by_a_rough_erf(void **state)
{
    const double v = -3, erf_v = erf(v * 0.70710678118654752440);
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        double rough = 0.5 * v * (1 + erf_v + sign * 16 * 0x1p-24);
        double rougher = 0.5 * v * (1 + erf_v + sign * 100 * 0x1p-24);
        assert_true(takes_as(lab_type_pair_of(RUNG_F32, RUNG_F32), RUNG_ACTIVATION_GELU, v, rough));
        assert_false(takes_as(lab_type_pair_of(RUNG_F32, RUNG_F32), RUNG_ACTIVATION_GELU, v, rougher));
        assert_false(takes_as(lab_type_pair_of(RUNG_F64, RUNG_F64), RUNG_ACTIVATION_GELU, v, rough));
    }
}

/* An exponential may be 3 units in the last place off, a quotient 2.5. */
static void test_sigmoid_by_a_rough_exponential(void **state)
{
    const rung_activation all[] = {RUNG_ACTIVATION_GELU_TANH, RUNG_ACTIVATION_SILU};
    const double v = -1.5;
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double x = i == 0 ? 1.5957691216057307117 * (v + 0.044715 * v * v * v) : v, exact = v / (1 + exp(-x));
            double rough = exact + sign * 16 * 0x1p-24 * v, rougher = exact + sign * 100 * 0x1p-24 * v;
            assert_true(takes_as(lab_type_pair_of(RUNG_F32, RUNG_F32), all[i], v, rough));
            assert_false(takes_as(lab_type_pair_of(RUNG_F32, RUNG_F32), all[i], v, rougher));
            assert_false(takes_as(lab_type_pair_of(RUNG_F64, RUNG_F64), all[i], v, rough));
        }
}

/* ---- What is no number ---------------------------------------------------------------------------- */

static void test_relu_of_nan(void **state)
{
    (void)state;
    for (int i = 0; i < lab_type_pair_count(); i++) {
        lab_type_pair product = lab_type_pair_at(i);
        if (lab_type_is_integer(product.in) || lab_type_is_f8(product.in)) /* FP8 has no infinity */
            continue;
        assert_true(takes_as(product, RUNG_ACTIVATION_RELU, NAN, NAN));
        assert_false(takes_as(product, RUNG_ACTIVATION_RELU, NAN, 0)); /* as fmax(v, 0) has it */
        assert_true(takes_as(product, RUNG_ACTIVATION_RELU, -INFINITY, 0));
        assert_false(takes_as(product, RUNG_ACTIVATION_RELU, -INFINITY, -INFINITY));
        assert_false(takes_as(product, RUNG_ACTIVATION_RELU, -INFINITY, NAN));
        assert_true(takes_as(product, RUNG_ACTIVATION_RELU, INFINITY, INFINITY));
        assert_false(takes_as(product, RUNG_ACTIVATION_RELU, INFINITY, 0));
        assert_true(takes_as(product, RUNG_ACTIVATION_RELU, -2, 0));
        assert_false(takes_as(product, RUNG_ACTIVATION_RELU, -2, -2));
        assert_false(takes_as(product, RUNG_ACTIVATION_RELU, -2, NAN));
    }
}

/* v/2 (1 + erf(v / sqrt 2)) of minus infinity is infinity times 0. */
static void test_gelu_of_nan(void **state)
{
    (void)state;
    for (int i = 0; i < lab_type_pair_count(); i++) {
        lab_type_pair product = lab_type_pair_at(i);
        if (lab_type_is_integer(product.in) || lab_type_is_f8(product.in)) /* FP8 has no infinity */
            continue;
        assert_true(takes_as(product, RUNG_ACTIVATION_GELU, NAN, NAN));
        assert_false(takes_as(product, RUNG_ACTIVATION_GELU, NAN, 0));
        assert_true(takes_as(product, RUNG_ACTIVATION_GELU, INFINITY, INFINITY));
        assert_false(takes_as(product, RUNG_ACTIVATION_GELU, INFINITY, NAN));
        assert_true(takes_as(product, RUNG_ACTIVATION_GELU, -INFINITY, NAN));
        assert_false(takes_as(product, RUNG_ACTIVATION_GELU, -INFINITY, -INFINITY));
        assert_false(takes_as(product, RUNG_ACTIVATION_GELU, -2, NAN));
    }
}

/* Minus infinity gives the limit, 0, and not infinity times 0. */
static void test_sigmoid_of_nan(void **state)
{
    (void)state;
    for (int i = 0; i < lab_type_pair_count(); i++)
        for (int activation = RUNG_ACTIVATION_GELU_TANH; activation <= RUNG_ACTIVATION_SILU; activation++) {
            lab_type_pair product = lab_type_pair_at(i);
            if (lab_type_is_integer(product.in) || lab_type_is_f8(product.in))
                continue;
            assert_true(takes_as(product, (rung_activation)activation, NAN, NAN));
            assert_false(takes_as(product, (rung_activation)activation, NAN, 0));
            assert_true(takes_as(product, (rung_activation)activation, INFINITY, INFINITY));
            assert_false(takes_as(product, (rung_activation)activation, INFINITY, NAN));
            assert_true(takes_as(product, (rung_activation)activation, -INFINITY, 0));
            assert_true(takes_as(product, (rung_activation)activation, -INFINITY, -0.0));
            assert_false(takes_as(product, (rung_activation)activation, -INFINITY, NAN));
            assert_false(takes_as(product, (rung_activation)activation, -INFINITY, -1));
            assert_false(takes_as(product, (rung_activation)activation, -2, NAN));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_correct_epilogues_pass),
        cmocka_unit_test(test_missing_or_repeated_bias_is_detected),
        cmocka_unit_test(test_bias_along_the_wrong_side_is_seen),
        cmocka_unit_test(test_another_order_is_seen),
        cmocka_unit_test(test_gelu_by_tanh_is_seen),
        cmocka_unit_test(test_multiplier),
        cmocka_unit_test(test_a_multiplier_has_one_rounding),
        cmocka_unit_test(test_another_activation_is_seen),
        cmocka_unit_test(test_an_integer_off_by_one_is_detected),
        cmocka_unit_test(test_a_bias_larger_than_the_sum),
        cmocka_unit_test(test_a_residual_has_one_rounding),
        cmocka_unit_test(test_relu_of_what_is_surely_negative),
        cmocka_unit_test(test_gelu_by_a_rough_erf),
        cmocka_unit_test(test_relu_of_nan),
        cmocka_unit_test(test_gelu_of_nan),
        cmocka_unit_test(test_sigmoid_by_a_rough_exponential),
        cmocka_unit_test(test_sigmoid_of_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
