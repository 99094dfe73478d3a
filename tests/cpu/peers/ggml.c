/* SPDX-License-Identifier: Apache-2.0 */
/* ggml.c - 00_vendor:ggml. Without an argument a fake library shows what is passed on and what is refused. With the path of GGML
 * as an argument, GGML itself multiplies, beside the kernels of this library; a missing file is skipped. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "support/unit.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "fake_ggml.h"

enum { BLOCK = 32, M = 40, N = 96, K = 512, BYTES_MAX = N * K / BLOCK * 34 };

static rung_context *context;
static rung_device *device;
static rung_queue *queue;
static float values[M * K + 1], product[M * N + 1];
static _Alignas(64) float a_memory[M * K + 16], c_memory[M * N + 16];
static _Alignas(64) unsigned char b_memory[BYTES_MAX + 64];

static int open_all(void **state)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    (void)state;
    return rung_context_create(&options, &context) == RUNG_OK && rung_device_open(context, "cpu", &device) == RUNG_OK &&
                   rung_queue_create(device, &queue) == RUNG_OK
               ? 0
               : -1;
}

static int close_all(void **state)
{
    (void)state;
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}

static fake_ggml_record_t *find_record(void)
{
    void *library = dlopen(FAKE_GGML, RTLD_NOW | RTLD_NOLOAD);
    fake_ggml_record_t *record = library ? dlsym(library, "fake_ggml_record") : NULL;
    assert_non_null(record);
    return record;
}

/* ---- A problem ------------------------------------------------------------------------------------------------- */

static float random_value(uint64_t *seed)
{
    return (float)(unit_random(seed, 2001) - 1000) * 0.001f;
}

/* Returns a problem on aligned memory, with new numbers. */
static rung_problem make_problem(rung_type type, uint64_t seed)
{
    static float weights[N * K];
    for (int i = 0; i < N * K; i++)
        weights[i] = random_value(&seed);
    for (int i = 0; i < M * K; i++)
        a_memory[i] = values[i] = random_value(&seed);
    for (int i = 0; i < M * N; i++)
        c_memory[i] = product[i] = random_value(&seed);
    assert_int_equal(rung_quantize(rung_matrix_of(RUNG_F32, N, K, weights), rung_matrix_of(type, N, K, b_memory), NULL),
                     RUNG_OK);
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a_memory),
                                           rung_matrix_transpose(rung_matrix_of(type, N, K, b_memory)),
                                           rung_matrix_of(RUNG_F32, M, N, c_memory));
    problem.compute = RUNG_COMPUTE_Q8;
    return problem;
}

/* Compares with sums in F64, within the bound of mode q8. The initial C is in `product`. */
static void check_result(const rung_problem *problem, rung_type type)
{
    static float weights[N * K];
    const float *c = problem->c.data;
    assert_int_equal(
        rung_dequantize(rung_matrix_of(type, N, K, b_memory), NULL, rung_matrix_of(RUNG_F32, N, K, weights)), RUNG_OK);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0, sizes = 0, largest = 0;
            for (int p = 0; p < K; p++) {
                double x = (double)values[i * K + p], y = (double)weights[j * K + p];
                for (int e = p; p % BLOCK == 0 && e < p + BLOCK; e++)
                    largest = fmax(e == p ? 0 : largest, fabs((double)values[i * K + e]));
                sum += x * y;
                sizes += largest * fabs(y);
            }
            double expected = problem->alpha * sum + problem->beta * (double)product[i * N + j];
            double bound = fabs(problem->alpha) * sizes * (0x1p-7 + 0x1p-16 + 1.02 * K * 0x1p-24) + 1e-5;
            assert_true(fabs((double)c[i * N + j] - expected) <= bound);
        }
}

static rung_status make_plan(const char *name, const rung_problem *problem, int packed_b, int64_t threads,
                             rung_plan **plan)
{
    rung_kernel *kernel;
    rung_plan_options options = rung_plan_options_default();
    assert_int_equal(rung_kernel_find(context, "cpu", name, &kernel), RUNG_OK);
    options.kernel = kernel;
    options.packed_b = packed_b;
    options.threads = threads;
    return rung_plan_create(device, problem, &options, plan);
}

static rung_buffer *pack(rung_plan *plan, const rung_matrix *b)
{
    rung_buffer *packed;
    assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed), RUNG_OK);
    assert_int_equal(rung_plan_pack_b(plan, queue, b, packed, NULL), RUNG_OK);
    return packed;
}

static rung_status run(rung_plan *plan, const rung_problem *problem, rung_buffer *packed)
{
    rung_run_options options = rung_run_options_default();
    options.packed_b = packed;
    return rung_plan_run(plan, queue, problem, &options);
}

/* ---- With any library --------------------------------------------------------------------------------------- */

static const rung_type types[] = {RUNG_Q8_0, RUNG_Q4_0};

static void results_are_within_the_bound(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int packed_b = 0; packed_b < 2; packed_b++)
            for (int64_t threads = 1; threads < 3; threads++) {
                rung_problem problem = make_problem(types[t], 1);
                rung_plan *plan;
                assert_int_equal(make_plan("00_vendor:ggml", &problem, packed_b, threads, &plan), RUNG_OK);
                assert_int_equal(rung_plan_describe(plan)->compute, RUNG_COMPUTE_Q8);
                rung_buffer *packed = packed_b ? pack(plan, &problem.b) : NULL;
                for (int times = 0; times < 3; times++) {
                    problem.alpha = times == 2 ? -0.5 : 1;
                    problem.beta = times == 2 ? 2 : 0;
                    memcpy(c_memory, product, sizeof product);
                    assert_int_equal(run(plan, &problem, packed), RUNG_OK);
                    check_result(&problem, types[t]);
                }
                rung_buffer_destroy(packed);
                rung_plan_destroy(plan);
            }
}

/* Memory that GGML would refuse is copied. */
static void unaligned_matrices_are_copied(void **state)
{
    rung_problem problem = make_problem(RUNG_Q8_0, 2);
    rung_plan *plan;
    (void)state;
    memmove(a_memory + 1, a_memory, sizeof(float) * M * K);
    problem.a.data = a_memory + 1;
    problem.c.data = c_memory + 3;
    assert_int_equal(make_plan("00_vendor:ggml", &problem, 0, 1, &plan), RUNG_OK);
    assert_int_equal(run(plan, &problem, NULL), RUNG_OK);
    check_result(&problem, RUNG_Q8_0);
    problem.b.data = b_memory + 2;
    assert_int_equal(run(plan, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "aligned to 32 bytes"));
    rung_plan_destroy(plan);
}

/* Kernels of this library use and release the AMX tiles that GGML has configured once. */
static void kernels_of_this_library_run_between(void **state)
{
    static const char *const others[] = {"15_quantized", "10_pipeline"};
    rung_problem problem = make_problem(RUNG_Q8_0, 3);
    rung_plan *ggml, *other = NULL;
    (void)state;
    assert_int_equal(make_plan("00_vendor:ggml", &problem, 1, 1, &ggml), RUNG_OK);
    rung_buffer *packed = pack(ggml, &problem.b);
    for (int i = 0; i < 2 && !other; i++) {
        if (make_plan(others[i], &problem, 0, 1, &other) != RUNG_OK)
            other = NULL;
    }
    assert_non_null(other);
    for (int times = 0; times < 4; times++) {
        memset(c_memory, 0xff, sizeof c_memory);
        assert_int_equal(times % 2 ? run(other, &problem, NULL) : run(ggml, &problem, packed), RUNG_OK);
        check_result(&problem, RUNG_Q8_0);
    }
    rung_buffer_destroy(packed);
    rung_plan_destroy(other);
    rung_plan_destroy(ggml);
}

/* ---- With the fake library ------------------------------------------------------------------------------------ */

static void the_fastest_buffer_is_used(void **state)
{
    rung_problem problem = make_problem(RUNG_Q4_0, 4);
    rung_plan *plan;
    (void)state;
    assert_int_equal(make_plan("00_vendor:ggml", &problem, 1, 1, &plan), RUNG_OK);
    assert_non_null(strstr(rung_plan_describe(plan)->library, "GGML 1.2.3, FAST buffer, "));
    fake_ggml_record_t *record = find_record();
    int64_t messages = record->messages;
    rung_buffer *packed = pack(plan, &problem.b);
    assert_int_equal(record->messages, messages); /* GGML's messages are dropped */
    assert_int_equal(run(plan, &problem, packed), RUNG_OK);
    assert_ptr_not_equal(record->weights, b_memory);
    assert_ptr_equal(record->input, a_memory);
    assert_ptr_equal(record->result, c_memory);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    assert_int_equal(record->backends + record->contexts + record->buffers, 0);
    assert_int_equal(make_plan("00_vendor:ggml", &problem, 0, 3, &plan), RUNG_OK);
    assert_non_null(strstr(rung_plan_describe(plan)->library, "GGML 1.2.3, CPU buffer, "));
    assert_int_equal(run(plan, &problem, NULL), RUNG_OK);
    assert_ptr_equal(record->weights, b_memory);
    assert_int_equal(record->threads, 3);
    rung_plan_destroy(plan);
    assert_int_equal(record->backends + record->contexts + record->buffers, 0);
}

/* A packed B is in memory of GGML and belongs to its plan. */
static void other_packed_matrices_are_refused(void **state)
{
    rung_problem problem = make_problem(RUNG_Q8_0, 5);
    rung_plan *first, *second;
    (void)state;
    assert_int_equal(make_plan("00_vendor:ggml", &problem, 1, 1, &first), RUNG_OK);
    assert_int_equal(make_plan("00_vendor:ggml", &problem, 1, 1, &second), RUNG_OK);
    rung_buffer *old = pack(first, &problem.b), *empty;
    assert_int_equal(run(second, &problem, old), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "belongs to another plan"));
    rung_buffer *new = pack(first, &problem.b);
    assert_int_equal(run(first, &problem, old), RUNG_STATUS_INVALID);
    assert_int_equal(run(first, &problem, new), RUNG_OK);
    check_result(&problem, RUNG_Q8_0);
    assert_int_equal(rung_buffer_create(device, rung_plan_describe(first)->packed_b_bytes, &empty), RUNG_OK);
    memset(rung_buffer_native(empty), 0, 64);
    assert_int_equal(run(first, &problem, empty), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "does not hold a packed matrix"));
    rung_buffer_destroy(old);
    rung_buffer_destroy(new);
    rung_buffer_destroy(empty);
    rung_plan_destroy(first);
    rung_plan_destroy(second);
}

static void expect_refusal(const char *name, const rung_problem *problem, const char *words)
{
    rung_plan *plan;
    assert_int_equal(make_plan(name, problem, 0, 1, &plan), RUNG_STATUS_UNSUPPORTED);
    if (!strstr(rung_error_text(), words))
        fail_msg("the message lacks \"%s\": %s", words, rung_error_text());
}

static void other_problems_are_refused(void **state)
{
    static float others[N * K];
    rung_problem problem = make_problem(RUNG_Q8_0, 6);
    (void)state;
    problem.compute = RUNG_COMPUTE_STRICT;
    expect_refusal("00_vendor:ggml", &problem, "computes in q8, which is less precise than strict");
    problem.compute = RUNG_COMPUTE_Q8;
    expect_refusal("00_vendor", &problem, "does not multiply f32 x q8_0");
    problem.batch = 2;
    problem.c.batch_stride = (int64_t)M * N;
    expect_refusal("00_vendor:ggml", &problem, "only with batch 1");
    problem = make_problem(RUNG_Q8_0, 6);
    problem.c = rung_matrix_transpose(rung_matrix_of(RUNG_F32, N, M, c_memory));
    expect_refusal("00_vendor:ggml", &problem, "dense matrices");
    problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a_memory), rung_matrix_of(RUNG_F32, K, N, others),
                              rung_matrix_of(RUNG_F32, M, N, c_memory));
    expect_refusal("00_vendor:ggml", &problem, "does not multiply f32 x f32");
    expect_refusal("00_vendor", &problem, "GGML is called only with a quantized B"); /* of RUNG_CPU_VENDOR */
}

/* A library without one of the functions is another version. */
static void other_versions_are_refused(void **state)
{
    rung_problem problem = make_problem(RUNG_Q8_0, 7);
    (void)state;
    setenv("RUNG_CPU_VENDOR", FAKE_GGML_OLD_LIBRARY, 1);
    setenv("VIRTUAL_ENV", "/nonexistent", 1);
    setenv("HOME", "/nonexistent", 1);
    rung_plan *plan;
    rung_status status = make_plan("00_vendor:ggml", &problem, 0, 1, &plan);
    if (status == RUNG_OK) { /* GGML is installed where every program finds it */
        rung_plan_destroy(plan);
    } else {
        assert_int_equal(status, RUNG_STATUS_UNSUPPORTED);
        assert_non_null(strstr(rung_error_text(), "libggml.so.0 of GGML was not found; install it"));
    }
    setenv("RUNG_CPU_VENDOR", FAKE_GGML, 1);
}

/* ---- Starting ------------------------------------------------------------------------------------------------- */

int main(int count, char **words)
{
    const struct CMUnitTest real_tests[] = {
        cmocka_unit_test(results_are_within_the_bound),
        cmocka_unit_test(unaligned_matrices_are_copied),
        cmocka_unit_test(kernels_of_this_library_run_between),
    };
    const struct CMUnitTest fake_tests[] = {
        cmocka_unit_test(results_are_within_the_bound),        cmocka_unit_test(unaligned_matrices_are_copied),
        cmocka_unit_test(kernels_of_this_library_run_between), cmocka_unit_test(the_fastest_buffer_is_used),
        cmocka_unit_test(other_packed_matrices_are_refused),   cmocka_unit_test(other_problems_are_refused),
        cmocka_unit_test(other_versions_are_refused),
    };
    unit_clean_environment();
    if (count > 1 && access(words[1], R_OK) != 0) {
        printf("skipped: %s does not exist; tools/compare-ggml builds it\n", words[1]);
        return UNIT_SKIPPED;
    }
    setenv("RUNG_CPU_VENDOR", count > 1 ? words[1] : FAKE_GGML, 1);
    return count > 1 ? cmocka_run_group_tests(real_tests, open_all, close_all)
                     : cmocka_run_group_tests(fake_tests, open_all, close_all);
}
