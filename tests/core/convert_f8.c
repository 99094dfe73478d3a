/* SPDX-License-Identifier: Apache-2.0 */
/* convert_f8.c - checks the conversions of the 8-bit floating-point types: all 256 values of each, and every F32 next to
 * a place where rounding changes its result, against values computed by arithmetic. */
#include "support/unit.h"

#include <float.h>
#include <math.h>

typedef struct f8_format {
    const char *name;
    int fraction_bits, bias;
    int largest; /* bits of the largest number */
    bool has_infinity;
    float (*widen)(uint8_t bits);
    uint8_t (*narrow)(float value);
} f8_format_t;

static const f8_format_t formats[] = {
    {"f8e4m3", 3, 7, 0x7e, false, rung_f8e4m3_to_f32, rung_f8e4m3_from_f32},
    {"f8e5m2", 2, 15, 0x7b, true, rung_f8e5m2_to_f32, rung_f8e5m2_from_f32},
};

enum { FORMATS = sizeof formats / sizeof *formats };

/* Returns the number that the bits represent, by arithmetic. */
static double number_of(const f8_format_t *format, int bits)
{
    int magnitude = bits % 0x80, one = 1 << format->fraction_bits;
    int fraction = magnitude % one, exponent = magnitude / one;
    double value = exponent == 0 ? ldexp(fraction, 1 - format->bias - format->fraction_bits)
                                 : ldexp(one + fraction, exponent - format->bias - format->fraction_bits);
    return bits >= 0x80 ? -value : value;
}

static void check_narrowed(const f8_format_t *format, float value, int expected)
{
    int narrow = format->narrow(value);
    if (narrow != expected)
        fail_msg("%a becomes the %s 0x%02x, not 0x%02x", (double)value, format->name, (unsigned)narrow,
                 (unsigned)expected);
}

static void every_number_is_widened_and_comes_back(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int bits = 0; bits < 256; bits++) {
            float value = formats[i].widen((uint8_t)bits);
            if (bits % 0x80 > formats[i].largest)
                continue;
            if ((double)value != number_of(&formats[i], bits) || !signbit(value) != (bits < 0x80))
                fail_msg("%s 0x%02x is %a", formats[i].name, (unsigned)bits, (double)value);
            check_narrowed(&formats[i], value, bits);
        }
}

static void the_other_patterns_are_infinite_or_nan(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int bits = formats[i].largest + 1; bits < 0x80; bits++) {
            float value = formats[i].widen((uint8_t)bits), negative = formats[i].widen((uint8_t)(bits | 0x80));
            if (formats[i].has_infinity && bits == formats[i].largest + 1) {
                assert_true(isinf(value) && value > 0 && isinf(negative) && negative < 0);
                continue;
            }
            assert_true(isnan(value) && isnan(negative));
            check_narrowed(&formats[i], value, 0x7f);
            check_narrowed(&formats[i], negative, 0xff);
        }
}

static void rounding_to_nearest_and_even(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int lower = 0; lower < formats[i].largest; lower++)
            for (int sign = 0; sign <= 0x80; sign += 0x80) {
                double sum = number_of(&formats[i], lower + sign) + number_of(&formats[i], lower + 1 + sign);
                float away = sign ? -INFINITY : INFINITY, middle = (float)(sum / 2);
                int even = lower % 2 == 0 ? lower : lower + 1;
                check_narrowed(&formats[i], middle, even + sign);
                check_narrowed(&formats[i], nextafterf(middle, 0), lower + sign);
                check_narrowed(&formats[i], nextafterf(middle, away), lower + 1 + sign);
            }
}

static void large_numbers_become_the_largest(void **state)
{
    static const float large[] = {57345.0f, 65536.0f, 1e10f, FLT_MAX, INFINITY};
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (size_t j = 0; j < sizeof large / sizeof *large; j++) {
            check_narrowed(&formats[i], large[j], formats[i].largest);
            check_narrowed(&formats[i], -large[j], formats[i].largest + 0x80);
        }
    check_narrowed(&formats[0], 449.0f, 0x7e);
    check_narrowed(&formats[0], -464.0f, 0xfe); /* would be the tie between 448 and a 480 that does not exist */
}

static void small_numbers_become_zero(void **state)
{
    static const float small[] = {0.0f, FLT_TRUE_MIN, FLT_MIN, 0x1p-18f};
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (size_t j = 0; j < sizeof small / sizeof *small; j++) {
            check_narrowed(&formats[i], small[j], 0);
            check_narrowed(&formats[i], -small[j], 0x80);
        }
}

/* Between the places where the result changes it must not change: a few floats of every exponent. */
static void rounding_keeps_the_order(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        int last = 0;
        for (uint32_t bits = 0; bits <= 0x7f800000u; bits += 4093) {
            float value;
            memcpy(&value, &bits, sizeof value);
            int here = formats[i].narrow(value);
            assert_true(here >= last && here <= formats[i].largest);
            assert_int_equal(formats[i].narrow(-value), here + 0x80);
            last = here;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_widened_and_comes_back),
        cmocka_unit_test(the_other_patterns_are_infinite_or_nan),
        cmocka_unit_test(rounding_to_nearest_and_even),
        cmocka_unit_test(large_numbers_become_the_largest),
        cmocka_unit_test(small_numbers_become_zero),
        cmocka_unit_test(rounding_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
