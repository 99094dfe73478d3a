/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c - the judge is judged: right results in any order pass, and each small
 * wrong that a kernel could do is seen. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "verify/oracle.h"
#include "common/random.h"

/* Some tiles of the oracle each way, and a part of one. */
enum { M = 37, N = 41, K = 300 };

typedef struct oracle_fixture {
    float a[M * K], b[K * N], c[M * N], c0[M * N];
    rung_problem problem;
    rung_matrix before;
} oracle_fixture_t;

static void set_up(oracle_fixture_t *fixture, double alpha, double beta)
{
    for (int i = 0; i < M * K; i++)
        fixture->a[i] = (float)lab_random_uniform(7, 1, (uint64_t)i);
    for (int i = 0; i < K * N; i++)
        fixture->b[i] = (float)lab_random_uniform(7, 2, (uint64_t)i);
    for (int i = 0; i < M * N; i++)
        fixture->c0[i] = (float)lab_random_uniform(7, 3, (uint64_t)i);
    fixture->before = rung_matrix_of(RUNG_F32, M, N, fixture->c0);
    fixture->problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, fixture->a),
                                       rung_matrix_of(RUNG_F32, K, N, fixture->b),
                                       rung_matrix_of(RUNG_F32, M, N, fixture->c));
    fixture->problem.alpha = alpha;
    fixture->problem.beta = beta;
}

/* A float sum from the front or from the back. */
static void multiply(oracle_fixture_t *fixture, bool backwards)
{
    float alpha = (float)fixture->problem.alpha, beta = (float)fixture->problem.beta;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int step = 0; step < K; step++) {
                int p = backwards ? K - 1 - step : step;
                sum += fixture->a[i * K + p] * fixture->b[p * N + j];
            }
            fixture->c[i * N + j] = alpha * sum + (beta != 0 ? beta * fixture->c0[i * N + j] : 0);
        }
}

static bool oracle_result(oracle_fixture_t *fixture)
{
    return lab_oracle_check(&fixture->problem, &fixture->before, LAB_ACCURACY_BOUNDED).right;
}

static void test_any_order_is_right(void **state)
{
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        oracle_fixture_t fixture;
        set_up(&fixture, 1.25, -0.5);
        multiply(&fixture, backwards);
        assert_true(oracle_result(&fixture));
    }
}

/* What a kernel may get wrong in one element, each seen with its place. */
static void test_one_wrong_element_is_seen(void **state)
{
    (void)state;
    static const int places[][2] = {{3, 2}, {15, 16}, {16, 15}, {36, 40}};
    for (int run = 0; run < 7 * 4; run++) {
        oracle_fixture_t fixture;
        set_up(&fixture, 1, 1);
        multiply(&fixture, false);
        int row = places[run % 4][0], col = places[run % 4][1];
        float *element = &fixture.c[row * N + col], old = fixture.c0[row * N + col];
        switch (run / 4) {
        case 0: *element = 0; break; /* never stored */
        case 1: *element = NAN; break;
        case 2: *element = INFINITY; break;
        case 3: *element -= fixture.a[row * K + K - 1] * fixture.b[(K - 1) * N + col]; break; /* k tail lost */
        case 4: *element -= old; break;                                                       /* beta forgotten */
        case 5: *element += old; break;                                                       /* beta twice */
        case 6: *element = -*element; break;
        }
        lab_oracle_result verdict = lab_oracle_check(&fixture.problem, &fixture.before, LAB_ACCURACY_BOUNDED);
        assert_false(verdict.right);
        assert_int_equal(verdict.row, row);
        assert_int_equal(verdict.col, col);
    }
}

/* The first is that of the lowest row, and in it of the lowest column, wherever the others stand. */
static void test_the_first_wrong_element_is_named(void **state)
{
    (void)state;
    oracle_fixture_t fixture;
    set_up(&fixture, 1, 0);
    multiply(&fixture, false);
    fixture.c[20 * N + 3] = fixture.c[18 * N + 40] = fixture.c[18 * N + 33] = NAN;
    lab_oracle_result verdict = lab_oracle_check(&fixture.problem, &fixture.before, LAB_ACCURACY_BOUNDED);
    assert_false(verdict.right);
    assert_int_equal(verdict.row, 18);
    assert_int_equal(verdict.col, 33);
}

/* An error far under any absolute tolerance, in small numbers. */
static void test_small_numbers_get_a_small_bound(void **state)
{
    (void)state;
    oracle_fixture_t fixture;
    set_up(&fixture, 1, 0);
    for (int i = 0; i < M * K; i++)
        fixture.a[i] *= 0x1p-60f;
    multiply(&fixture, false);
    assert_true(oracle_result(&fixture));
    fixture.c[0] = 0;
    assert_false(oracle_result(&fixture));
}

/* A product of shortened factors is outside a bound for whole ones. */
static void test_lower_precision_is_detected(void **state)
{
    (void)state;
    oracle_fixture_t fixture;
    set_up(&fixture, 1, 0);
    for (int i = 0; i < M * K; i++) { /* the last 16 bits of A lost, as in bf16 */
        uint32_t bits;
        memcpy(&bits, &fixture.a[i], sizeof bits);
        bits &= 0xffff0000u;
        memcpy(&fixture.a[i], &bits, sizeof bits);
    }
    multiply(&fixture, false);
    for (int i = 0; i < M * K; i++)
        fixture.a[i] = (float)lab_random_uniform(7, 1, (uint64_t)i);
    assert_false(oracle_result(&fixture));
}

static void test_exact_means_every_bit(void **state)
{
    (void)state;
    oracle_fixture_t fixture;
    set_up(&fixture, 1, 0);
    for (int i = 0; i < M * K; i++)
        fixture.a[i] = (float)(i % 9 - 4);
    for (int i = 0; i < K * N; i++)
        fixture.b[i] = (float)(i % 7 - 3);
    multiply(&fixture, true);
    assert_true(lab_oracle_check(&fixture.problem, &fixture.before, LAB_ACCURACY_EXACT).right);
    fixture.c[11] = nextafterf(fixture.c[11], 1e9f);
    assert_true(lab_oracle_check(&fixture.problem, &fixture.before, LAB_ACCURACY_BOUNDED).right);
    assert_false(lab_oracle_check(&fixture.problem, &fixture.before, LAB_ACCURACY_EXACT).right);
}

static void test_nan_and_infinity_must_come_through(void **state)
{
    (void)state;
    oracle_fixture_t fixture;
    set_up(&fixture, 1, 0);
    fixture.a[2 * K + 5] = NAN;
    fixture.b[9 * N + 1] = INFINITY;
    multiply(&fixture, false);
    assert_true(oracle_result(&fixture));
    float kept = fixture.c[2 * N + 3];
    fixture.c[2 * N + 3] = 1;
    assert_false(oracle_result(&fixture));
    fixture.c[2 * N + 3] = kept;
    fixture.c[0 * N + 1] = -fixture.c[0 * N + 1];
    assert_false(oracle_result(&fixture));
}

static void test_unread_elements_are_ignored(void **state)
{
    (void)state;
    oracle_fixture_t fixture;
    set_up(&fixture, 0, 0);
    for (int i = 0; i < M * K; i++)
        fixture.a[i] = NAN;
    for (int i = 0; i < M * N; i++)
        fixture.c0[i] = NAN;
    memset(fixture.c, 0, sizeof fixture.c);
    assert_true(oracle_result(&fixture));
    fixture.c[4] = NAN;
    assert_false(oracle_result(&fixture));
}

/* The generator is Philox as published: Random123's known answers. */
static void test_random_is_philox(void **state)
{
    (void)state;
    const uint32_t zero[4] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(lab_random(0, 0, i), zero[i]);
    double sum = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double value = lab_random_uniform(1, 2, i);
        assert_true(value >= -1 && value < 1);
        sum += value;
    }
    assert_true(fabs(sum) < 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order_is_right),
        cmocka_unit_test(test_one_wrong_element_is_seen),
        cmocka_unit_test(test_the_first_wrong_element_is_named),
        cmocka_unit_test(test_small_numbers_get_a_small_bound),
        cmocka_unit_test(test_lower_precision_is_detected),
        cmocka_unit_test(test_exact_means_every_bit),
        cmocka_unit_test(test_nan_and_infinity_must_come_through),
        cmocka_unit_test(test_unread_elements_are_ignored),
        cmocka_unit_test(test_random_is_philox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
