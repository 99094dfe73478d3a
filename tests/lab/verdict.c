/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - statistics against values counted by hand, and how often they are wrong where the truth is
 * known: differences drawn with no shift, and with one. */
#include "verdict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"

static void is_about(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-15);
}

#define P(...) lab_signed_rank((const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

/* Subsets of the ranks, counted. */
static void ranks_by_hand(void **state)
{
    (void)state;
    assert_true(lab_signed_rank(NULL, 0) == 1);
    is_about(P(1, 2, 3, 4, 5), 2.0 / 32);
    is_about(P(-1, -2, -3, -4, -5), 2.0 / 32);
    is_about(P(-1, 2, 3, 4, 5, 6, 7, 8), 4.0 / 256);          /* {} and {1} */
    is_about(P(1, 2, -3, 4, -5, 6, 7, 8, 9, 10), 50.0 / 1024); /* 25 subsets come to 8 at most */
    is_about(P(8, -1, 2, 3), 4.0 / 16);                       /* sizes do not count, ranks do */
    /* Zeros are left out, ties share a rank. */
    is_about(P(0, 1, 2, 3, 0, 4, 5), 2.0 / 32);
    is_about(P(0, 0), 1);
    is_about(P(1, 1, 1, 1), 2.0 / 16);
    is_about(P(1, 1, -1), 1);
    is_about(P(-1, 1, 2, 3), 6.0 / 16); /* ranks 1.5 1.5 3 4: {}, {1.5} twice */
}

static void many_pairs(void **state)
{
    double up[LAB_PAIRS_MAX], even[LAB_PAIRS_MAX];
    (void)state;
    for (int i = 0; i < LAB_PAIRS_MAX; i++) {
        up[i] = 1 + i;
        even[i] = i % 4 == 0 || i % 4 == 3 ? 1 + i : -1 - i;
    }
    is_about(lab_signed_rank(up, LAB_PAIRS_MAX), 2 * pow(0.5, LAB_PAIRS_MAX));
    is_about(lab_least_p(LAB_PAIRS_MAX), 2 * pow(0.5, LAB_PAIRS_MAX));
    assert_true(lab_signed_rank(even, LAB_PAIRS_MAX) > 0.9);
    is_about(lab_least_p(7), 2.0 / 128);
    is_about(lab_least_p(0), 1);
    is_about(lab_least_p(1), 1);
}

static void shifts(void **state)
{
    (void)state;
    is_about(lab_hodges_lehmann((const double[]){1, 2, 3, 10}, 4), 2.75);
    is_about(lab_hodges_lehmann((const double[]){-5}, 1), -5);
    is_about(lab_hodges_lehmann((const double[]){1, 1, 1, 1000, 1}, 5), 1); /* one is no matter */
    assert_true(lab_hodges_lehmann(NULL, 0) == 0);
}

static void many_questions(void **state)
{
    double p[] = {0.01, 0.04, 0.03}, alone[] = {0.02}, all[] = {0.5, 0.9, 0.5}, ties[] = {0.002, 0.002};
    (void)state;
    lab_holm(p, 3);
    is_about(p[0], 0.03);
    is_about(p[1], 0.06); /* no less than one that was less likely */
    is_about(p[2], 0.06);
    lab_holm(alone, 1);
    is_about(alone[0], 0.02);
    lab_holm(all, 3);
    is_about(all[0], 1);
    is_about(all[1], 1);
    lab_holm(ties, 2);
    is_about(ties[0], 0.004);
    is_about(ties[1], 0.004);
    lab_holm(NULL, 0);
}

/* Both are needed. */
static void verdicts(void **state)
{
    (void)state;
    assert_int_equal(lab_judge(0.001, 0.05), LAB_SLOWER);
    assert_int_equal(lab_judge(0.001, -0.05), LAB_FASTER);
    assert_int_equal(lab_judge(0.001, 0.019), LAB_SAME);
    assert_int_equal(lab_judge(0.001, -0.019), LAB_SAME);
    assert_int_equal(lab_judge(0.01, 0.5), LAB_SAME);
    assert_int_equal(lab_judge(NAN, 0.5), LAB_SAME);
    assert_int_equal(lab_judge(0.001, NAN), LAB_SAME);
    assert_string_equal(lab_judgement_name(LAB_SLOWER), "slower");
}

/* Of so many comparisons of 40 pairs with noise of 4 %, how often p is below one in twenty. */
static int count_found(double shift, uint64_t stream)
{
    enum { COMPARISONS = 1000, PAIRS = 40 };
    int found = 0;
    for (uint64_t i = 0; i < COMPARISONS; i++) {
        double differences[PAIRS];
        for (uint64_t j = 0; j < PAIRS; j++)
            differences[j] = shift + 0.04 * lab_random_normal(1, stream, i * PAIRS + j);
        found += lab_signed_rank(differences, PAIRS) < 0.05;
    }
    return found;
}

static void errors_are_as_rare_as_said(void **state)
{
    (void)state;
    assert_in_range(count_found(0, 1), 25, 75); /* 50 are expected, give or take 7 */
    assert_in_range(count_found(0.04, 2), 990, 1000);
}

/* And what the numbers themselves are like. */
static void normal_numbers(void **state)
{
    enum { NUMBERS = 20000 };
    double sum = 0, squares = 0;
    int within = 0;
    (void)state;
    for (uint64_t i = 0; i < NUMBERS; i++) {
        double x = lab_random_normal(3, 5, i);
        assert_true(isfinite(x));
        sum += x;
        squares += x * x;
        within += fabs(x) < 1;
    }
    assert_true(fabs(sum / NUMBERS) < 0.03);
    assert_true(fabs(squares / NUMBERS - 1) < 0.04);
    assert_in_range(within, (int)(0.67 * NUMBERS), (int)(0.695 * NUMBERS)); /* 68.3 % */
    assert_true(lab_random_normal(3, 5, 7) != lab_random_normal(4, 5, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_by_hand), cmocka_unit_test(many_pairs),
        cmocka_unit_test(shifts),        cmocka_unit_test(many_questions),
        cmocka_unit_test(verdicts),      cmocka_unit_test(errors_are_as_rare_as_said),
        cmocka_unit_test(normal_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
