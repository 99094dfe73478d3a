/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - the 16-bit types are converted by bits in two places, on the host and in
 * the kernels, where one wrong bit passes for a rounding error. So all 65,536 values of
 * each type are taken, and every place where rounding changes its mind, against values
 * that are computed and not cut out of bits. The kernels are held to the host. */
#include "support/unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { PATTERNS = 65536 };

typedef struct format {
    const char *name;
    rung_type type;
    int fraction_bits, bias;
    uint16_t infinity, one, quiet;
    float (*widen)(uint16_t bits);
    uint16_t (*narrow)(float value);
} format_t;

static const format_t formats[] = {
    {"f16", RUNG_F16, 10, 15, 0x7c00, 0x3c00, 0x0200, rung_f16_to_f32, rung_f16_from_f32},
    {"bf16", RUNG_BF16, 7, 127, 0x7f80, 0x3f80, 0x0040, rung_bf16_to_f32, rung_bf16_from_f32},
};

enum { FORMATS = sizeof formats / sizeof *formats };

/* What the bits stand for, by arithmetic. Those of infinity count as the number that
 * would come after the largest, which is where rounding places it. */
static double number_of(const format_t *format, int bits)
{
    int magnitude = bits % 0x8000, one = (int)ldexp(1, format->fraction_bits);
    int fraction = magnitude % one, exponent = magnitude / one;
    double value = exponent == 0 ? ldexp(fraction, 1 - format->bias - format->fraction_bits)
                                 : ldexp(one + fraction, exponent - format->bias - format->fraction_bits);
    return bits >= 0x8000 ? -value : value;
}

static bool is_nan_pattern(const format_t *format, int bits)
{
    return bits % 0x8000 > format->infinity;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- On the host ----------------------------------------------------------------- */

static void check_widened(const format_t *format, int bits)
{
    float value = format->widen((uint16_t)bits);
    double expected = number_of(format, bits);
    if (bits % 0x8000 == format->infinity)
        expected = bits >= 0x8000 ? -(double)INFINITY : (double)INFINITY;
    if ((double)value != expected || !signbit(value) != (bits < 0x8000))
        fail_msg("%s 0x%04x is %a, not %a", format->name, (unsigned)bits, (double)value, expected);
}

/* F32's NaN has the same sign, the quiet bit, and the payload in its highest bits. */
static void check_widened_nan(const format_t *format, int bits)
{
    uint32_t wide = bits_of(format->widen((uint16_t)bits));
    uint32_t payload = (uint32_t)bits % (1u << format->fraction_bits);
    uint32_t expected = (bits >= 0x8000 ? 0xffc00000u : 0x7fc00000u) | payload << (23 - format->fraction_bits);
    if (wide != expected)
        fail_msg("%s 0x%04x is 0x%08x, not 0x%08x", format->name, (unsigned)bits, (unsigned)wide, (unsigned)expected);
}

static void every_bit_pattern_converts(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int bits = 0; bits < PATTERNS; bits++)
            if (is_nan_pattern(&formats[i], bits))
                check_widened_nan(&formats[i], bits);
            else
                check_widened(&formats[i], bits);
}

static void every_value_comes_back(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int bits = 0; bits < PATTERNS; bits++) {
            int expected = is_nan_pattern(&formats[i], bits) ? bits | formats[i].quiet : bits;
            int back = formats[i].narrow(formats[i].widen((uint16_t)bits));
            if (back != expected)
                fail_msg("%s 0x%04x comes back as 0x%04x", formats[i].name, (unsigned)bits, (unsigned)back);
        }
}

static void greater_bits_are_greater_numbers(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int bits = 1; bits <= formats[i].infinity; bits++) {
            assert_true(formats[i].widen((uint16_t)bits) > formats[i].widen((uint16_t)(bits - 1)));
            assert_true(formats[i].widen((uint16_t)(bits + 0x8000)) < formats[i].widen((uint16_t)(bits + 0x7fff)));
        }
}

/* Halfway between two neighbours, the upper of which may be infinity. */
static float midpoint(const format_t *format, int lower)
{
    double middle = (number_of(format, lower) + number_of(format, lower + 1)) / 2;
    assert_true((double)(float)middle == middle);
    return (float)middle;
}

static void check_narrowed(const format_t *format, float value, int expected)
{
    int narrow = format->narrow(value);
    if (narrow != expected)
        fail_msg("%a becomes the %s 0x%04x, not 0x%04x", (double)value, format->name, (unsigned)narrow,
                 (unsigned)expected);
}

static void rounding_to_nearest_and_even(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int lower = 0; lower < formats[i].infinity; lower++)
            for (int sign = 0; sign <= 0x8000; sign += 0x8000) {
                float away = sign ? -INFINITY : INFINITY, middle = midpoint(&formats[i], lower + sign);
                int even = lower % 2 == 0 ? lower : lower + 1;
                check_narrowed(&formats[i], middle, even + sign);
                check_narrowed(&formats[i], nextafterf(middle, 0), lower + sign);
                check_narrowed(&formats[i], nextafterf(middle, away), lower + 1 + sign);
            }
}

/* Between places where the result changes it must not: a few floats of every exponent. */
static void rounding_keeps_the_order(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        int last = 0;
        for (uint32_t bits = 0; bits <= 0x7f800000u; bits += 4093) {
            int here = formats[i].narrow(float_of(bits));
            assert_true(here >= last && here <= formats[i].infinity);
            assert_int_equal(formats[i].narrow(float_of(bits | 0x80000000u)), here + 0x8000);
            last = here;
        }
    }
}

static void limits_of_the_range(void **state)
{
    const format_t *f16 = &formats[0], *bf16 = &formats[1];
    (void)state;
    check_narrowed(f16, 65504.0f, 0x7bff);
    check_narrowed(f16, 65519.996f, 0x7bff);
    check_narrowed(f16, 65520.0f, 0x7c00);
    check_narrowed(f16, -65520.0f, 0xfc00);
    check_narrowed(f16, FLT_MAX, 0x7c00);
    check_narrowed(f16, 0x1p-24f, 0x0001);
    check_narrowed(f16, 0x1p-25f, 0x0000);
    check_narrowed(f16, 0x1.000002p-25f, 0x0001);
    check_narrowed(f16, -0x1p-26f, 0x8000);
    check_narrowed(f16, 0x1.8p-24f, 0x0002);
    check_narrowed(f16, 0x1.ff8p-15f, 0x03ff);
    check_narrowed(f16, 0x1.ffcp-15f, 0x0400); /* a denormal that rounds up to none */
    check_narrowed(f16, FLT_TRUE_MIN, 0x0000);
    check_narrowed(bf16, FLT_MAX, 0x7f80);
    check_narrowed(bf16, 0x1.fep127f, 0x7f7f);
    check_narrowed(bf16, 0x1.fefffep127f, 0x7f7f);
    check_narrowed(bf16, 0x1.ffp127f, 0x7f80);
    check_narrowed(bf16, FLT_MIN, 0x0080);
    check_narrowed(bf16, 0x1p-133f, 0x0001);
    check_narrowed(bf16, 0x1p-134f, 0x0000);
    check_narrowed(bf16, FLT_TRUE_MIN, 0x0000);
    check_narrowed(bf16, -FLT_TRUE_MIN, 0x8000);
    for (int i = 0; i < FORMATS; i++) {
        check_narrowed(&formats[i], 0.0f, 0);
        check_narrowed(&formats[i], -0.0f, 0x8000);
        check_narrowed(&formats[i], 1.0f, formats[i].one);
        check_narrowed(&formats[i], INFINITY, formats[i].infinity);
        check_narrowed(&formats[i], -INFINITY, formats[i].infinity + 0x8000);
    }
}

/* A payload that does not fit must not leave an infinity behind, nor reach the sign. */
static void a_nan_stays_a_nan(void **state)
{
    static const uint32_t payloads[] = {1,        0x1fff,   0x2000,   0x8000,   0x10000,
                                        0x123456, 0x3fffff, 0x400000, 0x400001, 0x7fffff};
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (size_t j = 0; j < sizeof payloads / sizeof *payloads; j++)
            for (int sign = 0; sign <= 0x8000; sign += 0x8000) {
                uint32_t kept = payloads[j] >> (23 - formats[i].fraction_bits);
                int expected = sign | formats[i].infinity | formats[i].quiet | (int)kept;
                uint32_t bits = (uint32_t)sign << 16 | 0x7f800000u | payloads[j];
                assert_int_equal(formats[i].narrow(float_of(bits)), expected);
            }
}

/* ---- On a device ----------------------------------------------------------------- */

typedef struct convert_device {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
} convert_device_t;

static bool open_bench(const char *name, convert_device_t *bench)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .device = name, .verbose = -1};
    assert_int_equal(rung_context_create(&options, &bench->context), RUNG_OK);
    if (rung_device_open(bench->context, name, &bench->device) != RUNG_OK) {
        rung_context_destroy(bench->context);
        return false;
    }
    assert_int_equal(rung_queue_create(bench->device, &bench->queue), RUNG_OK);
    return true;
}

static void close_bench(convert_device_t *bench)
{
    rung_queue_destroy(bench->queue);
    rung_device_close(bench->device);
    rung_context_destroy(bench->context);
}

static rung_buffer *buffer_of(convert_device_t *bench, int64_t bytes, const void *data)
{
    rung_buffer *buffer;
    assert_int_equal(rung_buffer_create(bench->device, bytes, &buffer), RUNG_OK);
    assert_int_equal(rung_buffer_write(bench->queue, buffer, 0, bytes, data, NULL), RUNG_OK);
    return buffer;
}

/* A column of numbers times one, of these types, which converts and does nothing else. */
static void convert_on_device(convert_device_t *bench, const char *name, rung_type in, rung_type out, int64_t count,
                              const void *from, void *to)
{
    const float one = 1.0f;
    const uint16_t narrow_one = in == RUNG_F16 ? formats[0].one : formats[1].one;
    int64_t in_bytes = rung_type_size(in), out_bytes = count * rung_type_size(out);
    const rung_device_info *info = rung_device_describe(bench->device);
    rung_kernel *kernel;
    rung_plan *plan;
    rung_buffer *a = buffer_of(bench, count * in_bytes, from), *c = buffer_of(bench, out_bytes, to);
    rung_buffer *b = buffer_of(bench, in_bytes, in == RUNG_F32 ? (const void *)&one : &narrow_one);
    rung_problem problem = rung_problem_of(rung_matrix_in_buffer(in, count, 1, a, 0),
                                           rung_matrix_in_buffer(in, 1, 1, b, 0),
                                           rung_matrix_in_buffer(out, count, 1, c, 0));
    assert_int_equal(rung_kernel_find(bench->context, info->backend, name, &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
    assert_int_equal(rung_plan_create(bench->device, &problem, &options, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, bench->queue, &problem, NULL), RUNG_OK);
    assert_int_equal(rung_buffer_read(bench->queue, c, 0, out_bytes, to, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(bench->queue), RUNG_OK);
    rung_plan_destroy(plan);
    rung_buffer_destroy(a);
    rung_buffer_destroy(b);
    rung_buffer_destroy(c);
}

/* OpenCL leaves it to the device whether F32 has denormals. */
static bool flushes_denormals(convert_device_t *bench, const char *kernel)
{
    float from = 0x1p-140f, to = 1;
    convert_on_device(bench, kernel, RUNG_F32, RUNG_F32, 1, &from, &to);
    return to == 0;
}

/* A sum that began at 0 does not become -0. */
static void check_widening_on_device(convert_device_t *bench, const char *kernel, const format_t *format, bool flushes)
{
    static uint16_t from[PATTERNS];
    static float to[PATTERNS];
    for (int bits = 0; bits < PATTERNS; bits++)
        from[bits] = (uint16_t)bits;
    memset(to, 0x55, sizeof to);
    convert_on_device(bench, kernel, format->type, RUNG_F32, PATTERNS, from, to);
    for (int bits = 0; bits < PATTERNS; bits++) {
        float expected = format->widen((uint16_t)bits);
        bool right = isnan(expected) ? isnan(to[bits]) : to[bits] == expected;
        if (!right && !(flushes && to[bits] == 0 && fabsf(expected) < FLT_MIN))
            fail_msg("%s on %s: %s 0x%04x is %a, not %a", kernel, rung_device_describe(bench->device)->name,
                     format->name, (unsigned)bits, (double)to[bits], (double)expected);
    }
}

/* Every midpoint with its two neighbours, then a few NaNs. */
enum { POINTS_MAX = 6 * 0x7f80 + 4 };

static int64_t fill_points(const format_t *format, float *points)
{
    int64_t count = 0;
    for (int lower = 0; lower < format->infinity; lower++)
        for (int sign = 0; sign <= 0x8000; sign += 0x8000) {
            float middle = midpoint(format, lower + sign);
            points[count++] = nextafterf(middle, 0);
            points[count++] = middle;
            points[count++] = nextafterf(middle, sign ? -INFINITY : INFINITY);
        }
    points[count++] = float_of(0x7f800001u);
    points[count++] = float_of(0xffffffffu);
    points[count++] = INFINITY;
    points[count++] = -INFINITY;
    return count;
}

static void check_narrowing_on_device(convert_device_t *bench, const char *kernel, const format_t *format, bool flushes)
{
    static float from[POINTS_MAX];
    static uint16_t to[POINTS_MAX];
    int64_t count = fill_points(format, from);
    memset(to, 0x55, sizeof to);
    convert_on_device(bench, kernel, RUNG_F32, format->type, count, from, to);
    for (int64_t i = 0; i < count; i++) {
        int expected = format->narrow(from[i]), told = to[i];
        bool right = isnan(from[i]) ? is_nan_pattern(format, told)
                                    : told == expected || (told | expected) % 0x8000 == 0;
        if (!right && !(flushes && told % 0x8000 == 0 && fabsf(from[i]) < FLT_MIN))
            fail_msg("%s on %s: %a becomes the %s 0x%04x, not 0x%04x", kernel,
                     rung_device_describe(bench->device)->name, (double)from[i], format->name, (unsigned)told,
                     (unsigned)expected);
    }
}

static void check_kernel(convert_device_t *bench, const char *kernel)
{
    bool flushes = flushes_denormals(bench, kernel);
    for (int i = 0; i < FORMATS; i++) {
        check_widening_on_device(bench, kernel, &formats[i], flushes);
        check_narrowing_on_device(bench, kernel, &formats[i], flushes);
    }
}

static void the_cpu_converts_like_the_host(void **state)
{
    convert_device_t bench;
    (void)state;
    assert_true(open_bench("cpu", &bench));
    assert_false(flushes_denormals(&bench, "01"));
    check_kernel(&bench, "01");
    close_bench(&bench);
}

static void kernels_convert_like_the_host(void **state)
{
    convert_device_t bench;
    (void)state;
    if (!open_bench("opencl", &bench))
        skip();
    check_kernel(&bench, "01");
    check_kernel(&bench, "07");
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_pattern_converts),
        cmocka_unit_test(every_value_comes_back),
        cmocka_unit_test(greater_bits_are_greater_numbers),
        cmocka_unit_test(rounding_to_nearest_and_even),
        cmocka_unit_test(rounding_keeps_the_order),
        cmocka_unit_test(limits_of_the_range),
        cmocka_unit_test(a_nan_stays_a_nan),
        cmocka_unit_test(the_cpu_converts_like_the_host),
        cmocka_unit_test(kernels_convert_like_the_host),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
