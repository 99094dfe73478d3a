/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - the CPU's vendors, with fake libraries whose calls can be looked at: what is passed on, how
 * many threads they are told, what they are refused, that a library computes with itself, and what a
 * fork leaves of its lock. Results of real ones are held to the oracle by tests/conform/cpu_peers.sh. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "support/unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cpu/features.h"
#include "fake_blas.h"

static rung_context *context;
static rung_device *device;
static rung_queue *queue;

static int open_all(void **state)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    (void)state;
    unit_clean_environment();
    return rung_context_create(&options, &context) == RUNG_OK && rung_device_open(context, "cpu", &device) == RUNG_OK &&
                   rung_queue_create(device, &queue) == RUNG_OK
               ? 0
               : -1;
}

static int close_all(void **state)
{
    (void)state;
    unsetenv("RUNG_CPU_VENDOR");
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}

static fake_blas_record_t *record_of(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    fake_blas_record_t *record = library ? dlsym(library, "fake_blas_last_call") : NULL;
    assert_non_null(record);
    return record;
}

static rung_status make_plan(const char *kernel_name, const rung_problem *problem, int64_t threads, rung_plan **plan)
{
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_find(context, "cpu", kernel_name, &kernel), RUNG_OK);
    return rung_plan_create(
        device, problem, &(rung_plan_options){.size = sizeof(rung_plan_options), .kernel = kernel, .threads = threads},
        plan);
}

static void assert_refused(const char *kernel, const rung_problem *problem, const char *words)
{
    rung_plan *plan;
    assert_int_equal(make_plan(kernel, problem, 0, &plan), RUNG_STATUS_UNSUPPORTED);
    assert_null(plan);
    if (!strstr(rung_error_text(), words))
        fail_msg("not \"%s\" in \"%s\"", words, rung_error_text());
}

enum { M = 3, N = 5, K = 4 };

static int64_t run_threads; /* of rung_run_options; 0: the plan's, 2 */

/* C = 2 A B + 3 C of F32 in these orders, on a library at that path. */
static void multiply_f32(const char *kernel, bool a_by_rows, bool b_by_rows, bool c_by_rows)
{
    float a[M * K], b[K * N], c[M * N], before[M * N];
    uint64_t seed = 5;
    unit_fill(&seed, a, M * K);
    unit_fill(&seed, b, K * N);
    unit_fill(&seed, c, M * N);
    memcpy(before, c, sizeof c);
    rung_matrix ma = a_by_rows ? rung_matrix_of(RUNG_F32, M, K, a)
                               : rung_matrix_transpose(rung_matrix_of(RUNG_F32, K, M, a));
    rung_matrix mb = b_by_rows ? rung_matrix_of(RUNG_F32, K, N, b)
                               : rung_matrix_transpose(rung_matrix_of(RUNG_F32, N, K, b));
    rung_matrix mc = c_by_rows ? rung_matrix_of(RUNG_F32, M, N, c)
                               : rung_matrix_transpose(rung_matrix_of(RUNG_F32, N, M, c));
    rung_problem problem = rung_problem_of(ma, mb, mc);
    rung_plan *plan;
    problem.alpha = 2;
    problem.beta = 3;
    assert_int_equal(make_plan(kernel, &problem, 2, &plan), RUNG_OK);
    rung_run_options options = rung_run_options_default();
    options.threads = run_threads;
    assert_int_equal(rung_plan_run(plan, queue, &problem, run_threads ? &options : NULL), RUNG_OK);
    rung_plan_destroy(plan);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            float sum = 0;
            for (int64_t p = 0; p < K; p++)
                sum += *unit_at(&ma, i, p) * *unit_at(&mb, p, j);
            int64_t place = i * mc.row_stride + j * mc.col_stride;
            assert_true(c[place] == 2 * sum + 3 * before[place]);
        }
}

static void every_operand_order(void **state)
{
    (void)state;
    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_PLAIN, 1);
    for (int orders = 0; orders < 8; orders++)
        multiply_f32("00_vendor", orders & 1, orders & 2, orders & 4);
    assert_int_equal(record_of(FAKE_BLAS_PLAIN)->calls, 8);
}

/* Told the plan's before each call, and what they were after it. */
static void thread_count_is_passed(void **state)
{
    (void)state;
    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_OPENBLAS, 1);
    multiply_f32("00_vendor", true, true, true);
    assert_int_equal(record_of(FAKE_BLAS_OPENBLAS)->threads, 2);
    int (*get)(void);
    *(void **)&get = dlsym(dlopen(FAKE_BLAS_OPENBLAS, RTLD_NOW | RTLD_NOLOAD), "openblas_get_num_threads");
    assert_int_equal(get(), 7);

    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_MKL, 1);
    multiply_f32("00_vendor", true, true, true);
    assert_int_equal(record_of(FAKE_BLAS_MKL)->threads, 2);
    int (*exchange)(int);
    *(void **)&exchange = dlsym(dlopen(FAKE_BLAS_MKL, RTLD_NOW | RTLD_NOLOAD), "MKL_Set_Num_Threads_Local");
    assert_int_equal(exchange(0), 0); /* nothing of this thread's own is left */

    run_threads = 1; /* fewer than the plan has */
    multiply_f32("00_vendor", true, true, true);
    assert_int_equal(record_of(FAKE_BLAS_MKL)->threads, 1);
    run_threads = 5; /* more */
    multiply_f32("00_vendor", true, true, true);
    assert_int_equal(record_of(FAKE_BLAS_MKL)->threads, 2);
    run_threads = 0;
}

/* What a plan and the list of dependencies report. */
static void library_is_reported(void **state)
{
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 4, 4, NULL);
    rung_problem problem = rung_problem_of(matrix, matrix, matrix);
    rungi_cpu_features features;
    rung_dependency_list *list;
    int64_t seen = 0;
    rung_plan *plan;
    (void)state;
    rungi_cpu_features_detect(&features);
    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_OPENBLAS, 1);
    assert_int_equal(make_plan("00_vendor:openblas", &problem, 0, &plan), RUNG_OK); /* the path's kind */
    const rung_plan_info *info = rung_plan_describe(plan);
    assert_string_equal(info->kernel, "00_vendor:openblas");
    assert_non_null(strstr(info->library, "OpenBLAS 9.8.7 (Prescott), "));
    assert_non_null(strstr(info->library, FAKE_BLAS_OPENBLAS));
    assert_int_equal(info->compute, RUNG_COMPUTE_STRICT);
    if (features.isa >= RUNGI_ISA_AVX512)
        assert_string_equal(
            info->warning,
            "OpenBLAS uses its kernels for Prescott, an older processor; set OPENBLAS_CORETYPE=SkylakeX");
    else if (features.isa == RUNGI_ISA_AVX2)
        assert_string_equal(
            info->warning, "OpenBLAS uses its kernels for Prescott, an older processor; set OPENBLAS_CORETYPE=Haswell");
    else
        assert_string_equal(info->warning, "");
    rung_plan_destroy(plan);

    assert_int_equal(rung_dependency_list_create(context, &list), RUNG_OK);
    for (int64_t i = 0; i < rung_dependency_list_count(list); i++) {
        const rung_dependency *dependency = rung_dependency_list_at(list, i);
        seen += strcmp(dependency->backend, "cpu") == 0;
        if (strcmp(dependency->name, "OpenBLAS") == 0)
            assert_non_null(strstr(dependency->found, "9.8.7 (Prescott), "));
    }
    rung_dependency_list_destroy(list);
    assert_int_equal(seen, 5);

    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    assert_string_equal(rung_plan_describe(plan)->library, "");
    assert_string_equal(rung_plan_describe(plan)->warning, "");
    assert_null(strstr(rung_plan_describe(plan)->kernel, "vendor")); /* never unasked */
    rung_plan_destroy(plan);
}

static void multiply_i8(const int8_t *a, const int8_t *b, int32_t *c, bool b_by_rows, double alpha, double beta)
{
    rung_matrix mb = b_by_rows ? rung_matrix_of(RUNG_I8, K, N, b)
                               : rung_matrix_transpose(rung_matrix_of(RUNG_I8, N, K, b));
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_I8, M, K, a), mb, rung_matrix_of(RUNG_I32, M, N, c));
    int32_t before[M * N];
    rung_plan *plan;
    problem.alpha = alpha;
    problem.beta = beta;
    memcpy(before, c, sizeof before);
    assert_int_equal(make_plan("00_vendor:mkl", &problem, 0, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    rung_plan_destroy(plan);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            uint32_t sum = 0;
            for (int64_t p = 0; p < K; p++)
                sum += (uint32_t)(a[i * K + p] * b[p * mb.row_stride + j * mb.col_stride]);
            sum = (uint32_t)(int64_t)alpha * sum +
                  (beta == 0 ? 0 : (uint32_t)(int64_t)beta * (uint32_t)before[i * N + j]);
            assert_int_equal((uint32_t)c[i * N + j], sum);
        }
}

/* A goes as it is where nothing in it is negative, else with 128 added; the last element too. */
static void integer_products(void **state)
{
    int8_t a[M * K], b[K * N];
    int32_t c[M * N];
    rungi_cpu_features features;
    (void)state;
    rungi_cpu_features_detect(&features);
    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_MKL, 1);
    for (int i = 0; i < M * K; i++)
        a[i] = (int8_t)(127 - i);
    for (int i = 0; i < K * N; i++)
        b[i] = (int8_t)(13 * i - 128);
    if (!features.has_vnni) {
        rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_I8, M, K, a), rung_matrix_of(RUNG_I8, K, N, b),
                                               rung_matrix_of(RUNG_I32, M, N, c));
        assert_refused("00_vendor:mkl", &problem, "VNNI");
        return;
    }
    const fake_blas_record_t *record;
    for (int order = 0; order < 2; order++) {
        a[0] = 127;
        a[M * K - 1] = 0;
        multiply_i8(a, b, c, order, 1, 0);
        record = record_of(FAKE_BLAS_MKL);
        assert_ptr_equal(record->a, a);
        assert_int_equal(record->added, 0);
        a[M * K - 1] = -1;
        multiply_i8(a, b, c, order, 1, 0);
        assert_ptr_not_equal(record->a, a);
        assert_int_not_equal(record->added, 0);
        a[0] = -128;
        multiply_i8(a, b, c, order, -3, 0);
        multiply_i8(a, b, c, order, 5, -7);
        multiply_i8(a, b, c, order, 1, 1);
    }
}

static void refusals(void **state)
{
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 4, 4, NULL), bf16 = rung_matrix_of(RUNG_BF16, 4, 4, NULL);
    rung_problem problem = rung_problem_of(matrix, matrix, matrix);
    float data[16] = {0};
    rung_plan *plan;
    (void)state;
    setenv("RUNG_CPU_VENDOR", "gotoblas", 1);
    assert_refused("00_vendor", &problem,
                   "RUNG_CPU_VENDOR is \"gotoblas\"; valid values are mkl, openblas, blis, onednn, ggml");
    setenv("RUNG_CPU_VENDOR", "/nowhere/libblas.so", 1);
    assert_refused("00_vendor", &problem, "that RUNG_CPU_VENDOR names cannot be opened");
    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_NO_GEMM, 1);
    assert_refused("00_vendor", &problem, "has no cblas_sgemm");

    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_PLAIN, 1);
    rung_problem batch = problem;
    batch.batch = 2;
    batch.c.batch_stride = 16;
    assert_refused("00_vendor", &batch, "a CBLAS is not called for batches");
    rung_problem strided = problem;
    strided.a.row_stride = 8;
    strided.a.col_stride = 2;
    assert_refused("00_vendor", &strided, "one stride of 1, and k > 0");
    strided.a.row_stride = 0;
    strided.a.col_stride = 1;
    assert_refused("00_vendor", &strided, "one stride of 1");
    rung_matrix tall = rung_matrix_of(RUNG_F32, 4, 0, NULL), flat = rung_matrix_of(RUNG_F32, 0, 4, NULL);
    rung_problem empty = rung_problem_of(tall, flat, matrix);
    assert_refused("00_vendor", &empty, "k > 0");
    rung_problem narrow = rung_problem_of(bf16, bf16, matrix);
    assert_refused("00_vendor", &narrow, "a CBLAS does not multiply bf16");
    rung_problem biased = problem;
    biased.activation = RUNG_ACTIVATION_RELU;
    assert_refused("00_vendor", &biased, "does not support an epilogue");
    rung_problem wide = problem;
    wide.a.row_stride = INT64_C(1) << 31;
    assert_refused("00_vendor", &wide, "sizes below 2^31");

    /* A and B stay unread where alpha is 0, as the vendor is not called (see alpha_zero.c); nothing in C is nothing
     * to do. */
    problem = rung_problem_of(rung_matrix_of(RUNG_F32, 4, 4, data), rung_matrix_of(RUNG_F32, 4, 4, data),
                              rung_matrix_of(RUNG_F32, 4, 4, (float[16]){0}));
    assert_int_equal(make_plan("00_vendor", &problem, 0, &plan), RUNG_OK);
    problem.alpha = 0;
    int64_t before = record_of(FAKE_BLAS_PLAIN)->calls;
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    assert_int_equal(record_of(FAKE_BLAS_PLAIN)->calls, before);
    rung_plan_destroy(plan);
    rung_problem nothing = rung_problem_of(rung_matrix_of(RUNG_F32, 0, 4, NULL), matrix,
                                           rung_matrix_of(RUNG_F32, 0, 4, NULL));
    assert_int_equal(make_plan("00_vendor", &nothing, 0, &plan), RUNG_OK);
    nothing.b.data = data;
    assert_int_equal(rung_plan_run(plan, queue, &nothing, NULL), RUNG_OK);
    rung_plan_destroy(plan);

    assert_int_equal(make_plan("00_vendor", &problem, -1, &plan), RUNG_STATUS_INVALID);
}

/* Somebody else's function of the same name is there for all to see, as MKL's are once it has
 * run. */
static void a_library_binds_its_own_symbols(void **state)
{
    (void)state;
#ifdef RUNGI_SANITIZED
    skip(); /* a sanitizer's names must come first, and so do all others */
#endif
    assert_non_null(dlopen(FAKE_BLAS_INTERPOSER, RTLD_NOW | RTLD_GLOBAL));
    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_UNLOADED, 1); /* not loaded before */
    multiply_f32("00_vendor", true, true, true);
    assert_int_equal(record_of(FAKE_BLAS_UNLOADED)->calls, 1);
}

/* ---- fork ------------------------------------------------------------------------------ */

typedef struct square_operands {
    float a[24 * 24], c[24 * 24];
    rung_plan *plan;
    rung_queue *queue;
    rung_problem problem;
} square_operands_t;

static atomic_bool is_over;

static void make_square(square_operands_t *made)
{
    uint64_t seed = 3;
    unit_fill(&seed, made->a, 24 * 24);
    rung_matrix a = rung_matrix_of(RUNG_F32, 24, 24, made->a);
    made->problem = rung_problem_of(a, a, rung_matrix_of(RUNG_F32, 24, 24, made->c));
    assert_int_equal(make_plan("00_vendor", &made->problem, 1, &made->plan), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &made->queue), RUNG_OK);
}

static void free_square(square_operands_t *made)
{
    rung_plan_destroy(made->plan);
    rung_queue_destroy(made->queue);
}

static void *multiply_often(void *user)
{
    square_operands_t *own = user;
    while (!atomic_load(&is_over))
        rung_plan_run(own->plan, own->queue, &own->problem, NULL);
    return NULL;
}

/* A child does not wait for one who was in the library when the parent forked. */
static void fork_during_a_call(void **state)
{
    static square_operands_t busy, own;
    pthread_t thread;
    int failed = 0;
    (void)state;
    setenv("RUNG_CPU_VENDOR", FAKE_BLAS_PLAIN, 1);
    make_square(&busy);
    make_square(&own);
    assert_int_equal(pthread_create(&thread, NULL, multiply_often, &busy), 0);
    for (int i = 0; i < 20 && failed == 0; i++) {
        int status = -1;
        struct timespec time = {0, 100000};
        nanosleep(&time, NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(rung_plan_run(own.plan, own.queue, &own.problem, NULL) == RUNG_OK &&
                          unit_first_wrong(&own.problem.a, &own.problem.b, &own.problem.c) == -1
                      ? 0
                      : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        failed += status != 0;
    }
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    free_square(&busy);
    free_square(&own);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operand_order),
        cmocka_unit_test(thread_count_is_passed),
        cmocka_unit_test(library_is_reported),
        cmocka_unit_test(integer_products),
        cmocka_unit_test(refusals),
        cmocka_unit_test(a_library_binds_its_own_symbols),
        cmocka_unit_test(fork_during_a_call),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
