/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_types.c - the judge is judged in every product: what rounding in the right type
 * explains passes, what it does not is seen. */
#include "naive.h"

enum { K = 100 };

static bool is_float(lab_type_pair product)
{
    return !lab_type_is_integer(product.in);
}

static double unit_of(rung_type type)
{
    return type == RUNG_F64 ? 0x1p-53 : type == RUNG_F32 ? 0x1p-24 : type == RUNG_F16 ? 0x1p-11 : 0x1p-8;
}

static bool is_narrower(lab_type_pair product)
{
    return unit_of(product.out) > unit_of(lab_type_pair_accumulator(product));
}

/* ---- Every product ------------------------------------------------------------------------------ */

static void test_any_order_is_right(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++)
        for (int order = 0; order < NAIVE_ORDERS; order++)
            for (int scaled = 0; scaled < 2; scaled++) {
                naive_t naive = naive_create(lab_type_pair_at(product), 300);
                naive.order = (naive_order_t)order;
                if (scaled) {
                    naive.problem.alpha = is_float(naive.product) ? 1.25 : 3;
                    naive.problem.beta = is_float(naive.product) ? -0.5 : -5;
                }
                naive_multiply(&naive);
                assert_true(naive_is_right(&naive));
            }
}

/* More than the bound, whatever the right result's own rounding was. Without a sign to
 * cancel, sums are off by k u of the result at most, so twice k + 8 are beyond k + 3 of
 * them; a result of a narrower type is off by half a place, so two are beyond one. */
static double smallest_wrong_value(const naive_t *naive, int64_t row, int64_t col, int sign)
{
    const rung_matrix *c = &naive->problem.c;
    if (is_float(naive->product) && !is_narrower(naive->product))
        return lab_element_get(c, row, col) * (1 + sign * 2 * (K + 8) * unit_of(c->type));
    return naive_next(c, row, col, is_float(naive->product) ? 2 * sign : sign);
}

static void expect_each_to_count(const naive_t *naive, int sign)
{
    const rung_matrix *c = &naive->problem.c;
    for (int64_t row = 0; row < NAIVE_M; row++)
        for (int64_t col = 0; col < NAIVE_N; col++) {
            double kept = lab_element_get(c, row, col);
            lab_element_set(c, row, col, smallest_wrong_value(naive, row, col, sign));
            lab_oracle_result verdict = naive_result(naive);
            assert_false(verdict.right);
            assert_int_equal(verdict.row, row);
            assert_int_equal(verdict.col, col);
            lab_element_set(c, row, col, kept);
        }
}

static void test_one_wrong_element_is_seen(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++) {
        naive_t naive = naive_create(lab_type_pair_at(product), K);
        if (is_float(naive.product)) {
            naive_make_positive(&naive.problem.a);
            naive_make_positive(&naive.problem.b);
        }
        naive_multiply(&naive);
        expect_each_to_count(&naive, 1);
        expect_each_to_count(&naive, -1);
    }
}

/* Just above a power of two a place is widest: there one place is too much. */
static void test_one_ulp_next_to_one_is_detected(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++) {
        naive_t naive = naive_create(lab_type_pair_at(product), 1);
        if (!is_float(naive.product) || !is_narrower(naive.product))
            continue;
        naive_set_all(&naive.problem.a, 1);
        naive_set_all(&naive.problem.b, 1);
        naive_multiply(&naive);
        assert_true(naive_is_right(&naive));
        lab_element_set(&naive.problem.c, 3, 3, naive_next(&naive.problem.c, 3, 3, 1));
        assert_false(naive_is_right(&naive));
    }
}

/* Without a step there is still the rounding of beta times C. */
static void test_nothing_to_sum(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++) {
        naive_t naive = naive_create(lab_type_pair_at(product), 0);
        naive.problem.beta = is_float(naive.product) ? 0.3f : 3;
        naive_multiply(&naive);
        assert_true(naive_is_right(&naive));
        lab_element_set(&naive.problem.c, 0, 0, 0);
        assert_false(naive_is_right(&naive));
    }
}

static void test_nan_results_are_detected(void **state)
{
    const double wrong[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++)
        for (int i = 0; is_float(lab_type_pair_at(product)) && i < 3; i++) {
            naive_t naive = naive_create(lab_type_pair_at(product), K);
            naive_multiply(&naive);
            lab_element_set(&naive.problem.c, 6, 0, wrong[i]);
            assert_false(naive_is_right(&naive));
        }
}

/* An engine cuts off what others round, of 16-bit numbers and the modes of F32; nothing else is let
 * through that was not before. */
static void test_truncating_engines(void **state)
{
    const struct {
        lab_type_pair product;
        rung_compute compute;
        double lost;
        int products; /* that are added per product */
        bool by_engine;
    } cases[] = {
        {{RUNG_F16, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT, 0, 1, true},
        {{RUNG_BF16, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT, 0, 1, true},
        {{RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT, 0, 1, false},
        {{RUNG_F64, RUNG_F64, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT, 0, 1, false},
        {{RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_BF16X3, 0x1p-24, 6, true},
        {{RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_TF32X3, 0x1p-21, 3, true},
        {{RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_TF32, 0x1p-10, 1, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        naive_t naive = naive_create(cases[i].product, K);
        naive_make_positive(&naive.problem.a);
        naive_make_positive(&naive.problem.b);
        naive_multiply(&naive);
        naive.problem.compute = cases[i].compute;
        const rung_matrix *c = &naive.problem.c;
        double right = lab_element_get(c, 2, 3), lost = cases[i].lost;
        double rounding = (K + 8) * cases[i].products * unit_of(c->type);
        lab_element_set(c, 2, 3, right * (1 + lost + 2 * rounding));
        assert_false(lab_oracle_check(&naive.problem, &naive.before, LAB_ACCURACY_BOUNDED).right);
        assert_int_equal(lab_oracle_check(&naive.problem, &naive.before, LAB_ACCURACY_ENGINE).right,
                         cases[i].by_engine);
        lab_element_set(c, 2, 3, right * (1 + lost + 5 * rounding));
        assert_false(lab_oracle_check(&naive.problem, &naive.before, LAB_ACCURACY_ENGINE).right);
    }
}

/* Sums of doubles that were kept in floats. */
static void test_f64_in_float_is_seen(void **state)
{
    const lab_type_pair products[] = {{RUNG_F64, RUNG_F64, RUNG_TYPE_NONE}, {RUNG_F64, RUNG_F32, RUNG_TYPE_NONE}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        naive_t naive = naive_create(products[i], 300);
        naive.sum = RUNG_F32;
        naive_multiply(&naive);
        assert_false(naive_is_right(&naive));
    }
}

/* Sums that were kept in the type of C or of A, which is too narrow for them. */
static void test_narrow_sums_are_seen(void **state)
{
    const rung_type narrow[] = {RUNG_F16, RUNG_BF16};
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++)
        for (int i = 0; lab_type_pair_accumulator(lab_type_pair_at(product)) == RUNG_F32 && i < 2; i++) {
            naive_t naive = naive_create(lab_type_pair_at(product), 2000);
            naive_make_positive(&naive.problem.a);
            naive_make_positive(&naive.problem.b);
            naive_multiply(&naive);
            assert_true(naive_is_right(&naive));
            naive.sum = narrow[i];
            naive_multiply(&naive);
            assert_false(naive_is_right(&naive));
        }
}

/* ---- The referee of F64 ---------------------------------------------------------------------------- */

/* One element: a column of B that is all ones, and the whole of a row of A. */
static naive_t row_of(lab_type_pair product, int64_t k)
{
    naive_t naive = naive_create(product, k);
    naive.problem.a.rows = naive.problem.c.rows = naive.before.rows = 1;
    naive.problem.b.cols = naive.problem.c.cols = naive.before.cols = 1;
    naive_set_all(&naive.problem.a, 0);
    naive_set_all(&naive.problem.b, 1);
    return naive;
}

static lab_oracle_result result_of(const naive_t *naive, double result)
{
    lab_element_set(&naive->problem.c, 0, 0, result);
    return naive_result(naive);
}

/* 1e16 + 1 + ... + 1 - 1e16: in doubles each 1 is lost and the sum is 0. Such a referee
 * would be wrong by almost half of the bound, and so refuse some of what is within it and
 * take some of what is not. */
static void test_f64_reference_has_more_bits(void **state)
{
    const int64_t k = 1001;
    (void)state;
    naive_t naive = row_of(lab_type_pair_of(RUNG_F64, RUNG_F64), k);
    naive_set_all(&naive.problem.a, 1);
    lab_element_set(&naive.problem.a, 0, 0, 1e16);
    lab_element_set(&naive.problem.a, 0, k - 1, -1e16);
    naive_multiply(&naive);
    assert_true(lab_element_get(&naive.problem.c, 0, 0) == 0);
    assert_true(naive_is_right(&naive));
    lab_oracle_result verdict = result_of(&naive, NAN);
    assert_true(verdict.expected == (double)(k - 2));
    assert_true(verdict.bound > 2.2 * (double)k && verdict.bound < 2.3 * (double)k);
    assert_true(result_of(&naive, verdict.expected + 0.9 * verdict.bound).right);
    assert_true(result_of(&naive, verdict.expected - 0.9 * verdict.bound).right);
    assert_false(result_of(&naive, verdict.expected + 1.1 * verdict.bound).right);
    assert_false(result_of(&naive, verdict.expected - 1.1 * verdict.bound).right);
}

/* Products that no double holds: (1 + 2^-30)(1 - 2^-30) - 1 is -2^-60, in doubles 0. */
static void test_f64_products_are_exact(void **state)
{
    (void)state;
    naive_t naive = row_of(lab_type_pair_of(RUNG_F64, RUNG_F64), 2);
    lab_element_set(&naive.problem.a, 0, 0, 1 + 0x1p-30);
    lab_element_set(&naive.problem.b, 0, 0, 1 - 0x1p-30);
    lab_element_set(&naive.problem.a, 0, 1, -1);
    assert_true(result_of(&naive, NAN).expected == -0x1p-60);
}

/* The product lies 7/16 of a place above the double next to it, and the bound is two
 * places: two up from that double is within it, two down is not. */
static void test_f64_comparison_has_more_bits(void **state)
{
    const double high = 1 + 0x1p-25;
    (void)state;
    naive_t naive = row_of(lab_type_pair_of(RUNG_F64, RUNG_F64), 1);
    lab_element_set(&naive.problem.a, 0, 0, 1 + 0x1p-28);
    lab_element_set(&naive.problem.b, 0, 0, 1 + 7 * 0x1p-28);
    assert_true(result_of(&naive, NAN).expected == high);
    assert_true(result_of(&naive, high + 2 * 0x1p-52).right);
    assert_false(result_of(&naive, high - 2 * 0x1p-52).right);
}

/* alpha and beta are of the sum's type, as a kernel gets them. */
static void test_scalars_are_of_the_sums_type(void **state)
{
    (void)state;
    naive_t naive = row_of(lab_type_pair_of(RUNG_F32, RUNG_F32), 1);
    naive_set_all(&naive.problem.a, 1);
    naive.problem.alpha = 0.1;
    assert_true(result_of(&naive, NAN).expected == 0.1f);
    naive = row_of(lab_type_pair_of(RUNG_F64, RUNG_F64), 1);
    naive_set_all(&naive.problem.a, 1);
    naive.problem.alpha = 0.1;
    assert_true(result_of(&naive, NAN).expected == 0.1);
}

/* Large numbers that cancel each other again and again, in no order. */
static void test_f64_survives_much_cancelling(void **state)
{
    const int64_t k = 1500;
    double small = 0;
    (void)state;
    naive_t naive = row_of(lab_type_pair_of(RUNG_F64, RUNG_F64), k);
    for (int64_t i = 0; i < k / 3; i++) {
        double large = ldexp(1 + lab_random_uniform(7, 9, (uint64_t)i), 60), one = (double)(i % 17) - 8;
        lab_element_set(&naive.problem.a, 0, i, large);
        lab_element_set(&naive.problem.a, 0, k - 1 - (7 * i) % (k / 3), -large);
        lab_element_set(&naive.problem.a, 0, k / 3 + i, one);
        small += one;
    }
    assert_true(result_of(&naive, NAN).expected == small);
}

/* ---- Ends of the range ------------------------------------------------------------------------------- */

static void test_past_the_largest_f16(void **state)
{
    const lab_type_pair products[] = {{RUNG_F16, RUNG_F16, RUNG_TYPE_NONE}, {RUNG_F32, RUNG_F16, RUNG_TYPE_NONE}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        naive_t naive = row_of(products[i], 3);
        lab_element_set(&naive.problem.a, 0, 0, 65504);
        lab_element_set(&naive.problem.a, 0, 1, 4096);
        assert_true(result_of(&naive, INFINITY).right);
        assert_false(result_of(&naive, 65504).right);
        assert_false(result_of(&naive, -INFINITY).right);
        assert_false(result_of(&naive, NAN).right);
        lab_element_set(&naive.problem.a, 0, 1, 0); /* the largest itself */
        assert_true(result_of(&naive, 65504).right);
        lab_element_set(&naive.problem.a, 0, 1, -5504);
        assert_true(result_of(&naive, 60000).right);
        assert_false(result_of(&naive, INFINITY).right);
    }
}

/* The sum is in the range of F32 all along, C's type ends before. */
static void test_past_the_largest_bf16(void **state)
{
    (void)state;
    naive_t naive = row_of(lab_type_pair_of(RUNG_F32, RUNG_BF16), 1);
    lab_element_set(&naive.problem.a, 0, 0, -0x1.ffp127);
    assert_true(result_of(&naive, -INFINITY).right);
    assert_false(result_of(&naive, INFINITY).right);
    assert_false(result_of(&naive, NAN).right);
    lab_element_set(&naive.problem.a, 0, 0, -0x1.f0p127);
    assert_true(result_of(&naive, -0x1.f0p127).right);
    assert_false(result_of(&naive, -INFINITY).right);
}

/* An infinity among the inputs must come out as one, and as NaN only against another. */
static void test_infinite_inputs(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++) {
        if (!is_float(lab_type_pair_at(product)) || lab_type_is_f8(lab_type_pair_at(product).in)) /* no infinity */
            continue;
        naive_t naive = row_of(lab_type_pair_at(product), 3);
        lab_element_set(&naive.problem.a, 0, 1, -INFINITY);
        assert_true(result_of(&naive, -INFINITY).right);
        assert_false(result_of(&naive, INFINITY).right);
        assert_false(result_of(&naive, NAN).right);
        assert_false(result_of(&naive, -1e4).right);
        lab_element_set(&naive.problem.a, 0, 2, INFINITY);
        assert_true(result_of(&naive, NAN).right);
        assert_false(result_of(&naive, -INFINITY).right);
        assert_false(result_of(&naive, 0).right);
    }
}

/* Results between the multiples of 2^-24 that F16 has near zero: flushed to zero they are
 * wrong, and so is one that is two of them off. */
static void test_denormal_f16(void **state)
{
    const lab_type_pair products[] = {{RUNG_F16, RUNG_F16, RUNG_TYPE_NONE}, {RUNG_F32, RUNG_F16, RUNG_TYPE_NONE}};
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            naive_t naive = row_of(products[i], 2);
            naive_set_all(&naive.problem.b, 0x1p-14);
            lab_element_set(&naive.problem.a, 0, 0, sign * 5 * 0x1p-11); /* 2.5 of them */
            assert_true(result_of(&naive, sign * 2 * 0x1p-24).right);
            assert_true(result_of(&naive, sign * 3 * 0x1p-24).right);
            assert_false(result_of(&naive, 0).right);
            assert_false(result_of(&naive, sign * 4 * 0x1p-24).right);
            assert_false(result_of(&naive, -sign * 2 * 0x1p-24).right);
        }
}

static void test_denormal_f32(void **state)
{
    (void)state;
    naive_t naive = row_of(lab_type_pair_of(RUNG_F32, RUNG_F32), 1);
    lab_element_set(&naive.problem.a, 0, 0, 100 * 0x1p-149);
    assert_true(result_of(&naive, 100 * 0x1p-149).right);
    assert_false(result_of(&naive, 0).right);
    assert_false(result_of(&naive, 110 * 0x1p-149).right);
}

/* BF16 below 2^-126 may count as 0, an input as well as a sum; above it may not. */
static void test_denormal_bf16(void **state)
{
    (void)state;
    naive_t naive = row_of(lab_type_pair_of(RUNG_BF16, RUNG_F32), 1);
    naive_set_all(&naive.problem.b, 0x1p100);
    lab_element_set(&naive.problem.a, 0, 0, 0x1p-127);
    assert_true(result_of(&naive, 0x1p-27).right);
    assert_true(result_of(&naive, 0).right);
    assert_false(result_of(&naive, -0x1p-27).right);
    lab_element_set(&naive.problem.a, 0, 0, 0x1p-125);
    assert_true(result_of(&naive, 0x1p-25).right);
    assert_false(result_of(&naive, 0).right);
    naive_set_all(&naive.problem.b, 0x1p-64);
    lab_element_set(&naive.problem.a, 0, 0, 0x1p-64);
    assert_true(result_of(&naive, 0).right);
    assert_false(result_of(&naive, 0x1p-120).right);
    lab_element_set(&naive.problem.a, 0, 0, 0x1p-50);
    assert_false(result_of(&naive, 0).right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order_is_right),
        cmocka_unit_test(test_one_wrong_element_is_seen),
        cmocka_unit_test(test_one_ulp_next_to_one_is_detected),
        cmocka_unit_test(test_nothing_to_sum),
        cmocka_unit_test(test_nan_results_are_detected),
        cmocka_unit_test(test_truncating_engines),
        cmocka_unit_test(test_f64_in_float_is_seen),
        cmocka_unit_test(test_narrow_sums_are_seen),
        cmocka_unit_test(test_f64_reference_has_more_bits),
        cmocka_unit_test(test_f64_products_are_exact),
        cmocka_unit_test(test_f64_comparison_has_more_bits),
        cmocka_unit_test(test_scalars_are_of_the_sums_type),
        cmocka_unit_test(test_f64_survives_much_cancelling),
        cmocka_unit_test(test_past_the_largest_f16),
        cmocka_unit_test(test_past_the_largest_bf16),
        cmocka_unit_test(test_infinite_inputs),
        cmocka_unit_test(test_denormal_f16),
        cmocka_unit_test(test_denormal_f32),
        cmocka_unit_test(test_denormal_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
