/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_modes.c - the judge is judged on compute modes: products formed as a mode says
 * pass where it was asked for or a lesser one, and fail where a better one was. */
#include "common/type_pair.h"
#include "naive.h"

/* So few steps that what rounding of sums explains does not cover what a mode leaves out. */
enum { K = 8 };

/* ---- Lesser products ---------------------------------------------------------------------------- */

static double with_bits(double factor, uint32_t rounding, bool to_even)
{
    float value = (float)factor;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + rounding + (to_even ? bits >> 13 & 1u : 0)) & ~0x1fffu;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* To 11 bits, the nearest. */
static double as_tf32(double factor)
{
    return with_bits(factor, 0xfff, true);
}

/* To 11 bits by leaving the others out, which loses twice as much. */
static double truncate_to_tf32(double factor)
{
    return with_bits(factor, 0, false);
}

static double as_bf16(double factor)
{
    return naive_rounded(RUNG_BF16, factor);
}

/* Splits a number into `count` BF16 or TF32 numbers whose sum is the number or close to it. */
static void split(double number, int count, double (*rounded)(double), double *parts)
{
    for (int i = 0; i < count; i++) {
        parts[i] = rounded(number);
        number = naive_rounded(RUNG_F32, number - parts[i]);
    }
}

/* Adds the largest products of the parts of x and y: three of four products, or six of nine. The
 * smallest products are added first. */
static double split_product(double sum, double x, double y, int count, double (*rounded)(double))
{
    double x_parts[3], y_parts[3];
    split(x, count, rounded, x_parts);
    split(y, count, rounded, y_parts);
    for (int size = count - 1; size >= 0; size--)
        for (int i = 0; i <= size; i++)
            sum = naive_rounded(RUNG_F32, sum + x_parts[i] * y_parts[size - i]);
    return sum;
}

static void multiply_split(const naive_t *naive, int count, double (*rounded)(double))
{
    const rung_problem *problem = &naive->problem;
    for (int64_t row = 0; row < NAIVE_M; row++)
        for (int64_t col = 0; col < NAIVE_N; col++) {
            double sum = 0;
            for (int64_t i = 0; i < problem->a.cols; i++)
                sum = split_product(sum, lab_element_get(&problem->a, row, i), lab_element_get(&problem->b, i, col),
                                    count, rounded);
            lab_element_set(&problem->c, row, col, sum);
        }
}

static bool is_right_in(naive_t *naive, rung_compute compute)
{
    naive->problem.compute = compute;
    return naive_is_right(naive);
}

/* Every factor the same, so that what is left out of the products adds up. */
static naive_t all_of(double factor)
{
    naive_t naive = naive_create(lab_type_pair_of(RUNG_F32, RUNG_F32), K);
    naive_set_all(&naive.problem.a, factor);
    naive_set_all(&naive.problem.b, factor);
    return naive;
}

/* Its three parts are of one sign and almost as large as they can be. */
static const double third_bf16_term_matters = 1 + 0x1p-8 - 0x1p-15 + 0x1p-17 - 0x1p-22;

/* ---- The modes --------------------------------------------------------------------------------------- */

static void test_strict_is_right_in_all(void **state)
{
    (void)state;
    for (int k = 1; k <= NAIVE_K_MAX; k = 3 * k + 1)
        for (int compute = 0; compute < LAB_COMPUTE_COUNT; compute++) {
            naive_t naive = naive_create(lab_type_pair_of(RUNG_F32, RUNG_F32), k);
            naive_multiply(&naive);
            assert_true(is_right_in(&naive, (rung_compute)compute));
        }
}

static void test_tf32_is_right_in_tf32_only(void **state)
{
    const lab_type_pair products[] = {{RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, {RUNG_F32, RUNG_F16, RUNG_TYPE_NONE}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        naive_t naive = naive_create(products[i], K);
        naive.change = as_tf32;
        naive_multiply(&naive);
        assert_true(is_right_in(&naive, RUNG_COMPUTE_TF32));
        if (products[i].out == RUNG_F16) /* whose own rounding is as coarse */
            continue;
        assert_false(is_right_in(&naive, RUNG_COMPUTE_BF16X3));
        assert_false(is_right_in(&naive, RUNG_COMPUTE_STRICT));
    }
}

static void test_bf16x1_is_right_in_bf16x1_only(void **state)
{
    (void)state;
    naive_t naive = naive_create(lab_type_pair_of(RUNG_F32, RUNG_F32), K);
    naive.change = as_bf16;
    naive_multiply(&naive);
    assert_true(is_right_in(&naive, RUNG_COMPUTE_BF16X1));
    assert_false(is_right_in(&naive, RUNG_COMPUTE_TF32));
    naive = all_of(1 + 0x1p-8); /* the worst that rounding to nearest can do */
    naive.change = as_bf16;
    naive_multiply(&naive);
    assert_true(is_right_in(&naive, RUNG_COMPUTE_BF16X1));
}

/* At the worst that rounding to nearest can do, and just past it. */
static void test_tf32_means_the_nearest(void **state)
{
    (void)state;
    naive_t naive = all_of(1 + 0x1p-11 - 0x1p-23);
    naive.change = as_tf32;
    naive_multiply(&naive);
    assert_true(is_right_in(&naive, RUNG_COMPUTE_TF32));
    naive = all_of(1 + 0x1p-10 - 0x1p-23);
    naive.change = as_tf32;
    naive_multiply(&naive);
    assert_true(is_right_in(&naive, RUNG_COMPUTE_TF32));
    naive.change = truncate_to_tf32;
    naive_multiply(&naive);
    assert_false(is_right_in(&naive, RUNG_COMPUTE_TF32));
}

static void test_bf16_alone_is_right_in_bf16x1(void **state)
{
    (void)state;
    naive_t naive = all_of(third_bf16_term_matters);
    naive.change = as_bf16;
    naive_multiply(&naive);
    for (int compute = 0; compute < RUNG_COMPUTE_BF16X1; compute++)
        assert_false(is_right_in(&naive, (rung_compute)compute));
    assert_true(is_right_in(&naive, RUNG_COMPUTE_BF16X1));
}

/* Asserts that products of split numbers are right in `mode` and in tf32, for random numbers and for `hard` ones. */
static void assert_split_passes(double hard, int count, double (*rounded)(double), rung_compute mode)
{
    for (int k = 1; k <= NAIVE_K_MAX; k = 3 * k + 1)
        for (int same = 0; same < 2; same++) {
            naive_t naive = naive_create(lab_type_pair_of(RUNG_F32, RUNG_F32), k);
            if (same) {
                naive_set_all(&naive.problem.a, hard);
                naive_set_all(&naive.problem.b, hard);
            }
            multiply_split(&naive, count, rounded);
            assert_true(is_right_in(&naive, mode));
            assert_true(is_right_in(&naive, RUNG_COMPUTE_TF32));
        }
}

static void test_three_bf16_terms_pass_as_bf16x3(void **state)
{
    (void)state;
    assert_split_passes(third_bf16_term_matters, 3, as_bf16, RUNG_COMPUTE_BF16X3);
}

/* Two parts leave 2^-15 of each product out, three a five-hundredth of that. */
static void test_two_bf16_terms_fail(void **state)
{
    (void)state;
    naive_t naive = all_of(third_bf16_term_matters);
    multiply_split(&naive, 2, as_bf16);
    assert_false(is_right_in(&naive, RUNG_COMPUTE_STRICT));
    assert_false(is_right_in(&naive, RUNG_COMPUTE_BF16X3));
    assert_true(is_right_in(&naive, RUNG_COMPUTE_TF32));
}

/* Just below a tie of the first TF32 term, and of the second: both leave out as much as they can. */
static const double second_tf32_term_matters = 1 + 0x1p-11 - 0x1p-23;

static void test_two_tf32_terms_pass_as_tf32x3(void **state)
{
    (void)state;
    assert_split_passes(second_tf32_term_matters, 2, as_tf32, RUNG_COMPUTE_TF32X3);
}

/* One TF32 leaves 2^-10 of each product out, and two BF16 2^-15. */
static void test_lesser_splits_fail_as_tf32x3(void **state)
{
    (void)state;
    naive_t naive = all_of(second_tf32_term_matters);
    multiply_split(&naive, 1, as_tf32);
    assert_false(is_right_in(&naive, RUNG_COMPUTE_TF32X3));
    assert_true(is_right_in(&naive, RUNG_COMPUTE_TF32));
    naive = all_of(third_bf16_term_matters);
    multiply_split(&naive, 2, as_bf16);
    assert_false(is_right_in(&naive, RUNG_COMPUTE_TF32X3));
}

/* Modes are about F32 inputs: others get no more room from one. */
static void test_modes_are_for_f32(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++) {
        rung_type in = lab_type_pair_at(product).in;
        if (in == RUNG_F32 || in == RUNG_BF16 || lab_type_is_f8(in) || lab_type_pair_at(product).out == RUNG_F16)
            continue;
        naive_t naive = naive_create(lab_type_pair_at(product), K);
        naive.change = in == RUNG_F16 ? as_bf16 : as_tf32;
        naive_multiply(&naive);
        if (lab_type_is_integer(in)) /* exact, whatever was asked for */
            lab_element_set(&naive.problem.c, 1, 1, naive_next(&naive.problem.c, 1, 1, 1));
        for (int compute = 0; compute < LAB_COMPUTE_COUNT; compute++)
            assert_false(is_right_in(&naive, (rung_compute)compute));
    }
}

/* Infinity less infinity is what the second part of an infinity comes to. */
static void test_infinity_split_into_bf16_may_be_nan(void **state)
{
    (void)state;
    naive_t naive = naive_create(lab_type_pair_of(RUNG_F32, RUNG_F32), K);
    for (int i = 0; i < NAIVE_M; i++)
        lab_element_set(&naive.problem.a, i, 3, INFINITY);
    multiply_split(&naive, 3, as_bf16);
    assert_true(isnan(lab_element_get(&naive.problem.c, 0, 0)));
    assert_true(is_right_in(&naive, RUNG_COMPUTE_BF16X3));
    assert_true(is_right_in(&naive, RUNG_COMPUTE_TF32));
    assert_false(is_right_in(&naive, RUNG_COMPUTE_STRICT));
    naive_set_all(&naive.problem.c, 1);
    assert_false(is_right_in(&naive, RUNG_COMPUTE_BF16X3));
}

static void test_a_finite_sum_may_not_be_nan(void **state)
{
    (void)state;
    for (int compute = 0; compute < LAB_COMPUTE_COUNT; compute++) {
        naive_t naive = naive_create(lab_type_pair_of(RUNG_F32, RUNG_F32), K);
        naive_multiply(&naive);
        lab_element_set(&naive.problem.c, 5, 4, NAN);
        assert_false(is_right_in(&naive, (rung_compute)compute));
    }
}

/* What lies below 2^-126 may count as 0 in bf16x3, not in strict. */
static naive_t flushed(void)
{
    naive_t naive = all_of(0x1p-130);
    naive_set_all(&naive.problem.b, 0x1p100);
    naive_set_all(&naive.problem.c, 0);
    return naive;
}

static void test_denormal_inputs(void **state)
{
    (void)state;
    naive_t naive = flushed();
    assert_true(is_right_in(&naive, RUNG_COMPUTE_BF16X3));
    assert_false(is_right_in(&naive, RUNG_COMPUTE_STRICT));
}

/* And so where tf32 was asked for, since bf16x3 may be taken for that. */
static void test_denormal_inputs_in_tf32(void **state)
{
    (void)state;
    naive_t naive = flushed();
    assert_true(is_right_in(&naive, RUNG_COMPUTE_TF32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strict_is_right_in_all),
        cmocka_unit_test(test_tf32_is_right_in_tf32_only),
        cmocka_unit_test(test_tf32_means_the_nearest),
        cmocka_unit_test(test_bf16x1_is_right_in_bf16x1_only),
        cmocka_unit_test(test_bf16_alone_is_right_in_bf16x1),
        cmocka_unit_test(test_three_bf16_terms_pass_as_bf16x3),
        cmocka_unit_test(test_two_bf16_terms_fail),
        cmocka_unit_test(test_two_tf32_terms_pass_as_tf32x3),
        cmocka_unit_test(test_lesser_splits_fail_as_tf32x3),
        cmocka_unit_test(test_modes_are_for_f32),
        cmocka_unit_test(test_infinity_split_into_bf16_may_be_nan),
        cmocka_unit_test(test_a_finite_sum_may_not_be_nan),
        cmocka_unit_test(test_denormal_inputs),
        cmocka_unit_test(test_denormal_inputs_in_tf32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
