/* SPDX-License-Identifier: Apache-2.0 */
/* bf16x3_ranges.c - rungi_bf16x3_is_safe() accepts a pair of panels exactly at the limits of each rule of decision 25, and rejects
 * it one step beyond. Results alone do not show this: near the limits few products underflow or overflow. */
#include "support/unit.h"

#include "cpu/amx/amx.h"

/* Returns the range of a panel whose first terms have exponents from `least` to `most`. */
static rungi_bf16x3_range range_of(int least, int most)
{
    return (rungi_bf16x3_range){.max = (uint32_t)(most + 127) << 7, .min_less_one = ((uint32_t)(least + 127) << 7) - 1};
}

/* Checks both orders of the operands. */
static void assert_safe(rungi_bf16x3_range a, rungi_bf16x3_range b, int64_t k, bool is_safe)
{
    if (rungi_bf16x3_is_safe(&a, &b, k) != is_safe || rungi_bf16x3_is_safe(&b, &a, k) != is_safe)
        fail_msg("ranges up to 0x%x and 0x%x with k = %lld: expected %s", (unsigned)a.max, (unsigned)b.max,
                 (long long)k, is_safe ? "safe" : "unsafe");
}

static void sums_stay_finite(void **unused)
{
    (void)unused;
    assert_safe(range_of(0, 59), range_of(0, 59), 2, true);
    assert_safe(range_of(0, 59), range_of(0, 59), 3, true);
    assert_safe(range_of(0, 59), range_of(0, 59), 4, false);
    assert_safe(range_of(0, 60), range_of(0, 59), 2, false);
    assert_safe(range_of(0, 100), range_of(0, 0), (int64_t)1 << 19, true);
    assert_safe(range_of(0, 100), range_of(0, 0), (int64_t)1 << 20, false);
}

static void first_terms_stay_finite(void **unused)
{
    (void)unused;
    assert_safe(range_of(126, 126), range_of(-30, -30), 1, true);
    assert_safe(range_of(127, 127), range_of(-30, -30), 1, false);
}

static void no_term_is_below_the_least_number(void **unused)
{
    (void)unused;
    assert_safe(range_of(-102, 0), range_of(30, 30), 1, true);
    assert_safe(range_of(-103, 0), range_of(30, 30), 1, false);
}

static void no_product_is_below_the_least_number(void **unused)
{
    (void)unused;
    assert_safe(range_of(-39, 0), range_of(-39, 0), 1, true);
    assert_safe(range_of(-40, 0), range_of(-39, 0), 1, false);
    assert_safe(range_of(-78, 0), range_of(0, 0), 1, true);
    assert_safe(range_of(-79, 0), range_of(0, 0), 1, false);
}

static void lost_bits_are_unsafe(void **unused)
{
    (void)unused;
    rungi_bf16x3_range lost = range_of(0, 0);
    assert_safe(lost, range_of(0, 0), 1, true);
    lost.lost_bits = 1;
    assert_safe(lost, range_of(0, 0), 1, false);
}

static void zeros_are_safe_with_finite_numbers(void **unused)
{
    (void)unused;
    const rungi_bf16x3_range zeros = {.max = 0, .min_less_one = UINT32_MAX};
    rungi_bf16x3_range lost = range_of(-120, 126);
    assert_safe(zeros, range_of(-120, 126), INT64_MAX, true);
    assert_safe(zeros, zeros, 1, true);
    assert_safe(zeros, range_of(0, 127), 1, false);
    lost.lost_bits = 1;
    assert_safe(zeros, lost, 1, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_stay_finite),
        cmocka_unit_test(first_terms_stay_finite),
        cmocka_unit_test(no_term_is_below_the_least_number),
        cmocka_unit_test(no_product_is_below_the_least_number),
        cmocka_unit_test(lost_bits_are_unsafe),
        cmocka_unit_test(zeros_are_safe_with_finite_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
