/* SPDX-License-Identifier: Apache-2.0 */
/* alpha_zero.c - alpha and beta may change from run to run, in plans of vendors' libraries too. With alpha = 0
 * neither A nor B is read, with beta = 0 C is not read: NaN in what is not read stays there. Every vendor that
 * is here, and a fake one that always is. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>

enum { M = 9, N = 7, K = 5, GAP = 3, ELEMENTS = 256 };

static const char *const kernels[] = {"00_vendor", "00_vendor:mkl", "00_vendor:openblas", "00_vendor:blis",
                                      "00_vendor:onednn"};

static const struct {
    rung_type in, out;
} products[] = {{RUNG_F32, RUNG_F32}, {RUNG_F64, RUNG_F64}, {RUNG_BF16, RUNG_F32}, {RUNG_I8, RUNG_I32}};

typedef struct alpha_zero_device {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
} alpha_zero_device_t;

static void set(void *memory, rung_type type, int64_t index, double value)
{
    switch (type) {
    case RUNG_F32: ((float *)memory)[index] = (float)value; break;
    case RUNG_F64: ((double *)memory)[index] = value; break;
    case RUNG_BF16: ((uint16_t *)memory)[index] = rung_bf16_from_f32((float)value); break;
    case RUNG_I8: ((int8_t *)memory)[index] = (int8_t)value; break;
    case RUNG_I32: ((int32_t *)memory)[index] = (int32_t)value; break;
    default: fail();
    }
}

static double get(const void *memory, rung_type type, int64_t index)
{
    return type == RUNG_F32   ? (double)((const float *)memory)[index]
           : type == RUNG_F64 ? ((const double *)memory)[index]
                              : (double)((const int32_t *)memory)[index];
}

/* All of an operand's memory, gaps too. */
static void fill(void *memory, rung_type type, double value)
{
    for (int64_t i = 0; i < ELEMENTS; i++)
        set(memory, type, i, value);
}

/* What is not a number, where the type has one; else a number that would be seen in C. */
static double unread_value(rung_type type)
{
    return type == RUNG_I8 || type == RUNG_I32 ? 77 : NAN;
}

typedef struct alpha_zero_operands {
    double a[ELEMENTS], b[ELEMENTS], c[ELEMENTS]; /* memory that any type fits */
    rung_buffer *buffers[3];
    rung_problem here;
} alpha_zero_operands_t;

static rung_problem problem_of(alpha_zero_operands_t *operands, int product, bool by_columns)
{
    rung_type in = products[product].in, out = products[product].out;
    rung_matrix c = rung_matrix_of(out, M, N, operands->c);
    c.row_stride = N + GAP;
    if (by_columns) {
        c = rung_matrix_transpose(rung_matrix_of(out, N, M, operands->c));
        c.col_stride = M + GAP;
    }
    return rung_problem_of(rung_matrix_of(in, M, K, operands->a), rung_matrix_of(in, K, N, operands->b), c);
}

/* The same in buffers, where the device does not reach this process's memory. */
static rung_problem upload(alpha_zero_device_t *bench, alpha_zero_operands_t *operands)
{
    rung_problem there = operands->here;
    rung_matrix *views[] = {&there.a, &there.b, &there.c};
    double *memory[] = {operands->a, operands->b, operands->c};
    for (int i = 0; i < 3; i++) {
        if (!operands->buffers[i])
            assert_int_equal(rung_buffer_create(bench->device, sizeof operands->a, &operands->buffers[i]), RUNG_OK);
        assert_int_equal(rung_buffer_write(bench->queue, operands->buffers[i], 0, sizeof operands->a, memory[i], NULL),
                         RUNG_OK);
        views[i]->data = NULL;
        views[i]->buffer = operands->buffers[i];
    }
    return there;
}

static void run(alpha_zero_device_t *bench, rung_plan *plan, alpha_zero_operands_t *operands)
{
    rung_problem there = upload(bench, operands);
    rung_status status = rung_plan_run(plan, bench->queue, &there, NULL);
    if (status != RUNG_OK)
        fail_msg("alpha %g, beta %g: %s", there.alpha, there.beta, rung_error_text());
    assert_int_equal(rung_buffer_read(bench->queue, operands->buffers[2], 0, sizeof operands->c, operands->c, NULL),
                     RUNG_OK);
    assert_int_equal(rung_queue_finish(bench->queue), RUNG_OK);
}

/* Every element of C is `expected`, and what lies between its rows is as it was. */
static void check(const alpha_zero_operands_t *operands, double expected, double between, const char *what)
{
    const rung_matrix *c = &operands->here.c;
    int64_t major = c->col_stride == 1 ? c->rows : c->cols, minor = c->col_stride == 1 ? c->cols : c->rows;
    int64_t step = c->col_stride == 1 ? c->row_stride : c->col_stride;
    for (int64_t i = 0; i < major; i++)
        for (int64_t j = 0; j < step && i * step + j < (major - 1) * step + minor; j++) {
            double value = get(operands->c, c->type, i * step + j), wanted = j < minor ? expected : between;
            if (!(value == wanted || (isnan(value) && isnan(wanted))))
                fail_msg("%s: element %d of line %d is %g, not %g", what, (int)j, (int)i, value, wanted);
        }
}

/* beta 0 over NaN, another beta, and alpha 1 again with the same plan. */
static void run_all(alpha_zero_device_t *bench, rung_plan *plan, alpha_zero_operands_t *operands)
{
    rung_problem *here = &operands->here;
    rung_type in = here->a.type, out = here->c.type;
    fill(operands->a, in, unread_value(in));
    fill(operands->b, in, unread_value(in));
    here->alpha = 0;
    here->beta = 0;
    fill(operands->c, out, unread_value(out));
    run(bench, plan, operands);
    check(operands, 0, unread_value(out), "beta 0");
    here->beta = -2;
    fill(operands->c, out, 3);
    run(bench, plan, operands);
    check(operands, -6, 3, "beta -2");
    here->beta = 1;
    run(bench, plan, operands); /* -6 stays */
    check(operands, -6, 3, "beta 1");
    fill(operands->a, in, 1);
    fill(operands->b, in, 2);
    fill(operands->c, out, 5);
    here->alpha = 3;
    run(bench, plan, operands);
    check(operands, 3 * 2 * K + 5, 5, "alpha 3");
}

/* Says whether such a plan was made. */
static bool try_kernel(alpha_zero_device_t *bench, const char *name, int product, bool by_columns)
{
    static alpha_zero_operands_t operands;
    rung_kernel *kernel;
    rung_plan *plan;
    if (rung_kernel_find(bench->context, rung_device_describe(bench->device)->backend, name, &kernel) != RUNG_OK)
        return false;
    memset(&operands, 0, sizeof operands);
    operands.here = problem_of(&operands, product, by_columns);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel, .threads = 1};
    if (rung_plan_create(bench->device, &operands.here, &options, &plan) != RUNG_OK)
        return false; /* not here, or it does not multiply these types */
    printf("%s %s to %s%s\n", *rung_plan_describe(plan)->library ? rung_plan_describe(plan)->library : name,
           rung_type_name(products[product].in), rung_type_name(products[product].out),
           by_columns ? ", C by columns" : "");
    run_all(bench, plan, &operands);
    rung_plan_destroy(plan);
    for (int i = 0; i < 3; i++)
        rung_buffer_destroy(operands.buffers[i]);
    return true;
}

/* Tries the first of the kernels. Returns how many plans there were. */
static int try_device(const char *device, size_t kernel_count)
{
    alpha_zero_device_t bench;
    rung_context_options options = {.size = sizeof(rung_context_options), .device = device, .verbose = -1};
    int made = 0;
    assert_int_equal(rung_context_create(&options, &bench.context), RUNG_OK);
    if (rung_device_open(bench.context, device, &bench.device) == RUNG_OK) {
        assert_int_equal(rung_queue_create(bench.device, &bench.queue), RUNG_OK);
        for (size_t i = 0; i < kernel_count; i++)
            for (size_t j = 0; j < sizeof products / sizeof *products; j++)
                for (int by_columns = 0; by_columns < 2; by_columns++)
                    made += try_kernel(&bench, kernels[i], (int)j, by_columns);
        rung_queue_destroy(bench.queue);
        rung_device_close(bench.device);
    }
    rung_context_destroy(bench.context);
    return made;
}

static void a_fake_blas(void **state)
{
    (void)state;
    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_PLAIN, 1);
    assert_true(try_device("cpu", 1) >= 4); /* F32 and F64, in both orders */
    unsetenv("RUNG_CPU_VENDOR");
}

static void installed_cpu_libraries(void **state)
{
    (void)state;
#ifdef RUNGI_SANITIZED
    skip(); /* the leak sanitizer falls over the threads that these libraries leave */
#endif
    if (try_device("cpu", sizeof kernels / sizeof *kernels) == 0)
        skip();
}

static void clblast(void **state)
{
    (void)state;
    if (try_device("opencl", 1) == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fake_blas),
        cmocka_unit_test(installed_cpu_libraries),
        cmocka_unit_test(clblast),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
