/* SPDX-License-Identifier: Apache-2.0 */
/* exact.c - the exact judge of large results sees one wrong element anywhere. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "exact.h"
#include "random.h"

enum { M = 37, N = 29, K = 53 };

static float a_data[M * K], b_data[K * N], c_data[M * N];

static bool judge(void)
{
    char why[128] = "";
    rung_matrix a = rung_matrix_of(RUNG_F32, M, K, a_data), b = rung_matrix_of(RUNG_F32, K, N, b_data);
    rung_matrix c = rung_matrix_of(RUNG_F32, M, N, c_data);
    bool right = lab_exact_judge(&a, &b, &c, 5, why, sizeof why);
    assert_int_equal(right, why[0] == '\0');
    return right;
}

static int set_up(void **state)
{
    (void)state;
    rung_matrix a = rung_matrix_of(RUNG_F32, M, K, a_data), b = rung_matrix_of(RUNG_F32, K, N, b_data);
    lab_exact_fill(&a, 1, 1);
    lab_exact_fill(&b, 1, 2);
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
    assert_true(judge());
}

static void test_each_element_counts(void **state)
{
    (void)state;
    for (int i = 0; i < M * N; i++) {
        float kept = c_data[i];
        c_data[i] += 1;
        assert_false(judge());
        c_data[i] = kept;
    }
    assert_true(judge());
}

static void test_no_numbers(void **state)
{
    const float wrong[] = {NAN, INFINITY, 0.5f, 1e30f};
    (void)state;
    for (int i = 0; i < 4; i++) {
        float kept = c_data[7];
        c_data[7] = wrong[i];
        assert_false(judge());
        c_data[7] = kept;
    }
}

/* Two errors that cancel in a plain sum of the row. */
static void test_errors_that_cancel(void **state)
{
    (void)state;
    c_data[3 * N + 4] += 5;
    c_data[3 * N + 20] -= 5;
    assert_false(judge());
    c_data[3 * N + 4] -= 5;
    c_data[3 * N + 20] += 5;
    assert_true(judge());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_is_right),
        cmocka_unit_test(test_each_element_counts),
        cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_errors_that_cancel),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
