/* SPDX-License-Identifier: Apache-2.0 */
/* activations.c - the activations at many numbers and at special ones, against long double: each kernel of the CPU with
 * each instruction set of this machine. */
#include "support/unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "core/enum_counts.h"
#include "cpu/features.h"

/* Numbers are a column of A, and B is a row of ones: each sum is one number, without rounding. */
enum { NUMBERS = 600, COLS = 21 };

static double numbers[NUMBERS];

static void random_inputs(void)
{
    static const double special[] = {0.0,      -0.0,     INFINITY,  -INFINITY, NAN,   FLT_MAX, -FLT_MAX, FLT_MIN,
                                     -FLT_MIN, 0x1p-149, -0x1p-149, 1e30,      -1e30, 88.7,    -88.7,    -87.3,
                                     -103.9,   -104.5,   1e-20,     -1e-20,    1,     -1};
    int count = sizeof special / sizeof *special;
    uint64_t seed = 4;
    for (int i = 0; i < NUMBERS; i++) {
        double range = i % 3 == 0 ? 120 : i % 3 == 1 ? 8 : 1;
        numbers[i] = i < count ? special[i] : (float)(range * ((double)unit_random(&seed, 1 << 20) / (1 << 19) - 1));
    }
}

static long double exact(rung_activation activation, long double v)
{
    switch (activation) {
    case RUNG_ACTIVATION_RELU: return v < 0 ? 0 : v;
    case RUNG_ACTIVATION_GELU: return v < 0 ? v / 2 * erfcl(-v * sqrtl(0.5L)) : v / 2 * (1 + erfl(v * sqrtl(0.5L)));
    case RUNG_ACTIVATION_GELU_TANH:
        return isinf(v) && v < 0 ? 0 : v / (1 + expl(-2 * sqrtl(0.5L / atanl(1)) * (v + 0.044715L * v * v * v)));
    case RUNG_ACTIVATION_SILU: return isinf(v) && v < 0 ? 0 : v / (1 + expl(-v));
    default: return v;
    }
}

static void set(rung_type type, void *memory, int64_t i, double value)
{
    switch (type) {
    case RUNG_F64: ((double *)memory)[i] = value; break;
    case RUNG_BF16: ((uint16_t *)memory)[i] = rung_bf16_from_f32((float)value); break;
    case RUNG_F16: ((uint16_t *)memory)[i] = rung_f16_from_f32((float)value); break;
    default: ((float *)memory)[i] = (float)value;
    }
}

static double get(rung_type type, const void *memory, int64_t i)
{
    switch (type) {
    case RUNG_F64: return ((const double *)memory)[i];
    case RUNG_BF16: return rung_bf16_to_f32(((const uint16_t *)memory)[i]);
    case RUNG_F16: return rung_f16_to_f32(((const uint16_t *)memory)[i]);
    default: return ((const float *)memory)[i];
    }
}

/* The largest relative error of a rounding to the type. */
static double unit_of(rung_type type)
{
    return type == RUNG_F64 ? 0x1p-53 : type == RUNG_F16 ? 0x1p-11 : type == RUNG_BF16 ? 0x1p-8 : 0x1p-24;
}

static void check_number(rung_activation activation, rung_type in, rung_type out, double v, double found,
                         const char *what)
{
    double expected = (double)exact(activation, v), most = out == RUNG_F16    ? 65504
                                                           : out == RUNG_BF16 ? 0x1.fep127
                                                                              : FLT_MAX;
    double tiny = out == RUNG_F64 ? 0x1p-1074 : out == RUNG_F16 ? 0x1p-24 : out == RUNG_BF16 ? 0x1p-133 : 0x1p-149;
    double error = 4 * unit_of(in == RUNG_F64 ? RUNG_F64 : RUNG_F32) * fabs(v) + unit_of(out) * fabs(expected) + tiny;
    bool is_right = isnan(v) || (activation == RUNG_ACTIVATION_GELU && v == -INFINITY) ? isnan(found)
                    : isinf(v)                                                         ? found == expected
                    : isinf(found) ? out != RUNG_F64 && fabs(expected) * (1 + unit_of(out)) > most
                                   : fabs(found - expected) <= error;
    if (!is_right)
        fail_msg("%s, %s: %s of %.9g is %.17g, not %.17g", what, rung_type_name(out), rung_activation_name(activation),
                 v, found, expected);
}

/* One kernel; NULL is the library's choice. */
static void check_kernel(rung_device *device, const rung_kernel *kernel, rung_type in, rung_type out,
                         rung_activation activation, const char *isa)
{
    static double a[NUMBERS], b[COLS], c[NUMBERS * COLS];
    rung_queue *queue;
    rung_plan *plan;
    char what[128];
    for (int i = 0; i < NUMBERS; i++)
        set(in, a, i, numbers[i]);
    for (int i = 0; i < COLS; i++)
        set(in, b, i, 1);
    rung_problem problem = rung_problem_of(rung_matrix_of(in, NUMBERS, 1, a), rung_matrix_of(in, 1, COLS, b),
                                           rung_matrix_of(out, NUMBERS, COLS, c));
    rung_plan_options options = rung_plan_options_default();
    problem.activation = activation;
    options.kernel = kernel;
    rung_status status = rung_plan_create(device, &problem, &options, &plan);
    if (kernel && status == RUNG_STATUS_UNSUPPORTED)
        return;
    assert_int_equal(status, RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    snprintf(what, sizeof what, "%s, %s", isa, rung_plan_describe(plan)->kernel);
    for (int64_t i = 0; i < NUMBERS; i++)
        for (int64_t j = 0; j < COLS; j++) {
            double v = get(in, a, i), found = get(out, c, i * COLS + j);
            if (in == RUNG_BF16 && fabs(v) < FLT_MIN)
                continue; /* the processor's instructions may take it for 0 */
            check_number(activation, in, out, v, found, what);
        }
    rung_plan_destroy(plan);
    rung_queue_destroy(queue);
}

static void check_isa(const char *isa)
{
    static const struct {
        rung_type in, out;
    } types[] = {{RUNG_F32, RUNG_F32},
                 {RUNG_F64, RUNG_F64},
                 {RUNG_F16, RUNG_F16},
                 {RUNG_BF16, RUNG_BF16},
                 {RUNG_BF16, RUNG_F32}};
    static const char *const names[] = {"01", "02", "09", "10", "12"};
    rung_context *context;
    rung_device *device;
    rung_kernel *kernel;
    setenv("RUNG_CPU_ISA", isa, 1);
    assert_int_equal(rung_context_create(NULL, &context), RUNG_OK);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        for (int activation = 0; activation < RUNGI_ACTIVATION_COUNT; activation++) {
            check_kernel(device, NULL, types[i].in, types[i].out, (rung_activation)activation, isa);
            for (int j = 0; j < (int)(sizeof names / sizeof *names); j++) {
                assert_int_equal(rung_kernel_find(context, "cpu", names[j], &kernel), RUNG_OK);
                check_kernel(device, kernel, types[i].in, types[i].out, (rung_activation)activation, isa);
            }
        }
    rung_device_close(device);
    rung_context_destroy(context);
    unsetenv("RUNG_CPU_ISA");
}

static void values_are_those_of_long_double(void **state)
{
    (void)state;
    random_inputs();
    for (int isa = 0; isa < RUNGI_ISA_COUNT; isa++)
        check_isa(rungi_isa_name((rungi_isa)isa));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_those_of_long_double)};
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
