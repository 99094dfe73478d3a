/* SPDX-License-Identifier: Apache-2.0 */
/* tune_call.c - rung_tune(): what it finds is right, is used by later plans, and is saved only where it may be. Speeds are
 * not tested. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/float16.h"
#include "core/choose/tune_bench.h"
#include "core/plan.h"
#include "cpu/features.h"

static rung_context *context;
static rung_device *device;
static char path[64];

static int open_on(const char *name)
{
    rung_context_options options = rung_context_options_default();
    options.verbose = -1;
    strcpy(path, "/tmp/rung-tune-XXXXXX");
    int file = mkstemp(path);
    if (file < 0 || close(file) != 0 || unlink(path) != 0)
        return -1;
    return rung_context_create(&options, &context) == RUNG_OK && rung_device_open(context, name, &device) == RUNG_OK
               ? 0
               : -1;
}

static int set_up(void **state)
{
    (void)state;
    return open_on("cpu");
}

static int tear_down(void **state)
{
    char lock[80];
    (void)state;
    snprintf(lock, sizeof lock, "%s.lock", path);
    unlink(path);
    unlink(lock);
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}

static rung_problem square(rung_type type, int64_t size)
{
    return rung_problem_of(rung_matrix_of(type, size, size, NULL), rung_matrix_of(type, size, size, NULL),
                           rung_matrix_of(type, size, size, NULL));
}

static void assert_ok(rung_status status)
{
    if (status != RUNG_OK)
        fail_msg("%s", rung_error_text());
}

static rung_tune_options short_options(void)
{
    rung_tune_options options = rung_tune_options_default();
    options.seconds = 0.3;
    options.path = path;
    return options;
}

/* ---- What is found --------------------------------------------------------------------------- */

/* Checks that the next plan uses the record exactly if one was saved. */
static void assert_is_used(const rung_problem *problem, const rung_tune_report *report)
{
    rung_plan *plan;
    assert_ok(rung_plan_create(device, problem, NULL, &plan));
    const rung_plan_info *info = rung_plan_describe(plan);
    assert_true((info->origin == RUNG_ORIGIN_TUNING) == (report->saved != 0));
    assert_true((access(path, F_OK) == 0) == (report->saved != 0));
    if (report->saved) {
        assert_string_equal(info->kernel, report->kernel);
        assert_string_equal(info->parameters, report->parameters);
    }
    rung_plan_destroy(plan);
}

/* Returns whether this processor has dot products of a type. Without them, it rejects 12_matrix. */
static bool has_dot_products(rung_type type)
{
    rungi_cpu_features features;
    rungi_cpu_features_detect(&features);
    return type == RUNG_BF16 ? features.has_bf16 : type == RUNG_I8 ? features.has_vnni : true;
}

static void finds_a_kernel(void **state)
{
    static const rung_type types[] = {RUNG_F32, RUNG_BF16, RUNG_I8};
    rung_tune_options options = short_options();
    (void)state;
    for (int i = 0; i < 3; i++) {
        rung_problem problem = square(types[i], 200);
        rung_tune_report *report;
        rung_kernel *kernel;
        if (types[i] == RUNG_I8)
            problem.c.type = RUNG_I32;
        unlink(path);
        assert_ok(rung_tune(device, &problem, &options, &report));
        assert_true(report->measured >= 1);
        assert_true(report->rejected == 0 || !has_dot_products(types[i]));
        assert_true(report->gflops > 0 && report->gflops >= report->untuned_gflops);
        assert_true(!report->saved || report->gflops >= 1.03 * report->untuned_gflops);
        assert_ok(rung_kernel_find(context, "cpu", report->kernel, &kernel));
        assert_ok(rung_kernel_check(kernel, report->parameters));
        assert_is_used(&problem, report);
        rung_tune_report_destroy(report);
    }
}

/* A result that is stored apart from C: verified and timed in D, whatever the strides of C; with beta = 0, C is absent. */
static void a_separate_result(void **state)
{
    rung_tune_options options = short_options();
    (void)state;
    options.path = "";
    for (int i = 0; i < 3; i++) {
        rung_problem problem = square(RUNG_F32, 60);
        rung_tune_report *report;
        problem.d = problem.c;
        problem.beta = i < 2 ? 1 : 0;
        problem.c.row_stride = i == 0 ? 71 : 0; /* the second repeats one row */
        if (i == 2)
            problem.c = (rung_matrix){0};
        assert_ok(rung_tune(device, &problem, &options, &report));
        assert_true(report->measured >= 1 && report->rejected == 0);
        rung_tune_report_destroy(report);
    }
}

/* All that a problem may have; NULL options, NULL report. */
static void accepts_any_problem(void **state)
{
    static const int64_t offsets[3] = {0, 5000, 2500};
    static const int64_t ascending[3] = {0, 2500, 5000};
    rung_tune_options options = short_options();
    (void)state;
    options.seconds = 0.05;
    rung_problem problem = square(RUNG_F32, 40);
    problem.a = rung_matrix_transpose(problem.a);
    problem.beta = -2;
    problem.batch = 3;
    problem.a.batch_offsets = offsets;
    problem.b.batch_stride = 0;
    problem.c.batch_offsets = ascending;
    problem.c.row_stride = 50;
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, 40, NULL), 40, 40);
    problem.activation = RUNG_ACTIVATION_GELU;
    assert_ok(rung_tune(device, &problem, &options, NULL));

    static const struct {
        rung_type in, out;
    } types[] = {{RUNG_F16, RUNG_F16}, {RUNG_BF16, RUNG_BF16}, {RUNG_I8, RUNG_I32}, {RUNG_F64, RUNG_F64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        problem = square(types[i].in, 24); /* a wrong reference, or too small a tolerance, fails */
        problem.c.type = types[i].out;
        problem.beta = 1;
        problem.activation = types[i].out == RUNG_I32 ? RUNG_ACTIVATION_NONE : RUNG_ACTIVATION_GELU;
        assert_ok(rung_tune(device, &problem, &options, NULL));
    }
    static float data[33]; /* the problem's own memory is not touched */
    problem = rung_problem_of(rung_matrix_of(RUNG_F32, 1, 33, data), rung_matrix_of(RUNG_F32, 33, 1, data),
                              rung_matrix_of(RUNG_F32, 1, 1, data));
    assert_ok(rung_tune(device, &problem, &options, NULL));
    problem = square(RUNG_F64, 1);
    assert_ok(rung_tune(device, &problem, &options, NULL));
    for (int i = 0; i < 33; i++)
        assert_true(data[i] == 0);
}

/* Rows and columns of a C that is too large to be compared whole are spread up to its last element. */
static void large_results_are_sampled(void **state)
{
    rungi_tune_bench bench;
    rung_problem problem = square(RUNG_F32, 700);
    (void)state;
    assert_ok(rungi_tune_bench_create(device, &problem, &bench));
    const rungi_tune_sample *sample = &bench.sample;
    assert_true(sample->rows > 50 && sample->rows < 700 && sample->row_step % 2 == 1);
    assert_int_equal(sample->first_row + (sample->rows - 1) * sample->row_step, 699);
    assert_int_equal(sample->first_col + (sample->cols - 1) * sample->col_step, 699);

    rung_plan_options options = rungi_plan_options(NULL, NULL);
    rung_plan *plan;
    bool is_right;
    int64_t nanoseconds;
    assert_ok(rung_plan_create(device, &bench.problem, &options, &plan));
    assert_ok(rungi_tune_verify(&bench, plan, &is_right, &nanoseconds));
    assert_true(is_right);
    ((float *)(void *)bench.expected)[sample->rows * sample->cols - 1] += 1;
    assert_ok(rungi_tune_verify(&bench, plan, &is_right, &nanoseconds));
    assert_false(is_right);
    rung_plan_destroy(plan);
    rungi_tune_bench_destroy(&bench);
}

/* The largest magnitude of A's elements: sums are exact in the type that adds them up, and as many bits as possible count. */
static void elements_are_as_large_as_sums_allow(void **state)
{
    static const struct {
        rung_type type;
        int64_t k;
        double most;
    } cases[] = {
        {RUNG_F64, 8, 4095}, {RUNG_F64, 40000, 4095}, {RUNG_F32, 8, 4095}, {RUNG_F32, 40000, 104}, {RUNG_BF16, 8, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rungi_tune_bench bench;
        rung_problem problem = square(cases[i].type, cases[i].k);
        problem.a.rows = problem.c.rows = problem.b.cols = problem.c.cols = 2;
        problem.b.row_stride = problem.c.row_stride = 2;
        assert_ok(rungi_tune_bench_create(device, &problem, &bench));
        double largest = 0;
        for (int64_t j = 0; j < 2 * cases[i].k; j++) {
            const void *a = (const void *)bench.buffers[RUNGI_A]->address;
            double x = cases[i].type == RUNG_F64   ? ((const double *)a)[j]
                       : cases[i].type == RUNG_F32 ? (double)((const float *)a)[j]
                                                   : (double)rungi_bf16_to_f32(((const uint16_t *)a)[j]);
            largest = fmax(largest, fabs(x));
        }
        assert_true(largest <= cases[i].most && largest >= 0.7 * cases[i].most);
        rungi_tune_bench_destroy(&bench);
    }
}

/* ---- With times of our own ------------------------------------------------------------------- */

/* The device computes, and reports these times: of 07_tile2d, of 07_tile2d with a larger BK, of others. */
static struct {
    const rungi_device_ops *real;
    rungi_device_ops ops;
    const rung_plan *last;
    int64_t tile2d, larger, others;
    bool has_tried_naive;
} fake;

static rung_status run_and_record(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                  rungi_gemm_sizes sizes, const rung_run_options *options)
{
    fake.last = plan;
    return fake.real->plan_run(plan, queue, problem, sizes, options);
}

static rung_status fake_event_time(rung_event *event, int64_t *nanoseconds)
{
    const rung_kernel *kernel = fake.last->kernel;
    (void)event;
    *nanoseconds = fake.others;
    if (strcmp(kernel->info.name, "07_tile2d") == 0) {
        const rung_parameter *bk = &kernel->parameters[2];
        assert_string_equal(bk->name, "BK");
        *nanoseconds = fake.last->values.value[2] > bk->value ? fake.larger : fake.tile2d;
    }
    return RUNG_OK;
}

/* Notes that the lowest kernel of the ladder is among the candidates. */
static int note_naive(void *user, const rung_tune_progress *progress)
{
    (void)user;
    fake.has_tried_naive = fake.has_tried_naive || strcmp(progress->kernel, "01_naive") == 0;
    return 0;
}

static rung_tune_report *tune_with_times(const char *file, int64_t tile2d, int64_t larger, int64_t others)
{
    rung_problem problem = square(RUNG_F32, 20);
    rung_tune_options options = short_options();
    rung_tune_report *report;
    options.path = file;
    options.seconds = 60; /* the search ends by itself */
    options.progress = note_naive;
    fake.has_tried_naive = false;
    fake.tile2d = tile2d;
    fake.larger = larger;
    fake.others = others;
    fake.real = device->ops;
    fake.ops = *device->ops;
    fake.ops.plan_run = run_and_record;
    fake.ops.event_time = fake_event_time;
    device->ops = &fake.ops;
    rung_status status = rung_tune(device, &problem, &options, &report);
    device->ops = fake.real;
    assert_ok(status);
    assert_true(fake.has_tried_naive);
    return report;
}

/* The fastest is saved and used, if it is at least 3 percent faster; the parameters of fast kernels are searched. */
static void the_fastest_is_saved(void **state)
{
    rung_problem problem = square(RUNG_F32, 20);
    (void)state;
    rung_tune_report *report = tune_with_times(path, 980000, 980000, 1000000);
    assert_string_equal(report->kernel, "07_tile2d");
    assert_true(fabs(report->gflops / report->untuned_gflops - 1 / 0.98) < 1e-9);
    assert_false(report->saved);
    assert_is_used(&problem, report);
    rung_tune_report_destroy(report);

    report = tune_with_times(path, 1100000, 1000000, 1000000);
    assert_true(report->gflops == report->untuned_gflops && !report->saved);
    rung_tune_report_destroy(report);

    report = tune_with_times("", 960000, 900000, 1000000);
    assert_false(report->saved);
    assert_is_used(&problem, report);
    rung_tune_report_destroy(report);

    report = tune_with_times(path, 960000, 900000, 1000000);
    assert_string_equal(report->kernel, "07_tile2d");
    assert_true(fabs(report->gflops - 2.0 * 20 * 20 * 20 / 900000) < 1e-9);
    assert_true(report->saved);
    assert_is_used(&problem, report);
    rung_tune_report_destroy(report);

    /* The record does not count as what the library selects without tuning. */
    report = tune_with_times(path, 960000, 900000, 1000000);
    assert_true(report->saved && report->gflops > 1.05 * report->untuned_gflops);
    rung_tune_report_destroy(report);
}

static rung_status reject_defaults(rung_plan *plan)
{
    if (plan->info.origin != RUNG_ORIGIN_FALLBACK)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "this device does not support the defaults");
    return fake.real->plan_create(plan);
}

/* If a device does not support the defaults of a kernel, one parameter may have another value. */
static void other_values_than_the_defaults(void **state)
{
    rung_problem problem = square(RUNG_F32, 100);
    rung_plan *plan;
    (void)state;
    fake.real = device->ops;
    fake.ops = *device->ops;
    fake.ops.plan_create = reject_defaults;
    device->ops = &fake.ops;
    rung_status status = rung_plan_create(device, &problem, NULL, &plan);
    device->ops = fake.real;
    assert_ok(status);
    assert_int_equal(rung_plan_describe(plan)->origin, RUNG_ORIGIN_FALLBACK);
    rung_plan_destroy(plan);
}

/* ---- What stops it --------------------------------------------------------------------------- */

typedef struct progress {
    int64_t calls, stop_at, tried;
} progress_t;

static int count_progress(void *user, const rung_tune_progress *given)
{
    progress_t *progress = user;
    assert_true(given->tried > progress->tried && given->tried <= given->total);
    assert_true(*given->kernel && given->parameters && given->best_gflops > 0 && given->gflops >= 0);
    progress->tried = given->tried;
    return ++progress->calls == progress->stop_at;
}

static void progress_stops(void **state)
{
    rung_problem problem = square(RUNG_F32, 100);
    rung_tune_options options = short_options();
    (void)state;
    options.seconds = 60;
    options.progress = count_progress;
    for (int64_t stop_at = 1; stop_at < 5; stop_at++) {
        progress_t progress = {.stop_at = stop_at};
        rung_tune_report *report;
        options.user = &progress;
        assert_ok(rung_tune(device, &problem, &options, &report));
        assert_int_equal(progress.calls, stop_at);
        assert_true(report->measured <= stop_at);
        if (stop_at == 1)
            assert_false(report->saved);
        rung_tune_report_destroy(report);
    }
}

static void an_empty_path_saves_nothing(void **state)
{
    rung_problem problem = square(RUNG_F32, 64);
    rung_tune_options options = short_options();
    rung_tune_report *report;
    rung_plan *plan;
    (void)state;
    options.seconds = 0.1;
    options.path = "";
    setenv("HOME", "/nonexistent", 1);
    assert_ok(rung_tune(device, &problem, &options, &report));
    assert_false(report->saved);
    assert_ok(rung_plan_create(device, &problem, NULL, &plan));
    assert_int_not_equal(rung_plan_describe(plan)->origin, RUNG_ORIGIN_TUNING);
    rung_plan_destroy(plan);
    rung_tune_report_destroy(report);
}

static void invalid_arguments(void **state)
{
    rung_problem problem = square(RUNG_F32, 10), empty = square(RUNG_F32, 10), mixed = square(RUNG_F32, 10);
    rung_tune_options options = short_options();
    rung_tune_report *report = (rung_tune_report *)(void *)&problem;
    rung_kernel *vendor;
    (void)state;
    empty.a.cols = empty.b.rows = 0;
    assert_int_equal(rung_tune(device, &empty, &options, &report), RUNG_STATUS_INVALID);
    assert_null(report);
    assert_non_null(strstr(rung_error_text(), "k = 0"));
    options.seconds = -1;
    assert_int_equal(rung_tune(device, &problem, &options, &report), RUNG_STATUS_INVALID);
    options.seconds = 2e9;
    assert_int_equal(rung_tune(device, &problem, &options, &report), RUNG_STATUS_INVALID);
    options.seconds = NAN;
    assert_int_equal(rung_tune(device, &problem, &options, &report), RUNG_STATUS_INVALID);
    options = short_options();
    options.size = 0;
    assert_int_equal(rung_tune(device, &problem, &options, &report), RUNG_STATUS_INVALID);
    options = short_options();
    assert_int_equal(rung_tune(NULL, &problem, &options, &report), RUNG_STATUS_INVALID);
    assert_int_equal(rung_tune(device, NULL, &options, &report), RUNG_STATUS_INVALID);
    mixed.c.type = RUNG_I32;
    assert_int_equal(rung_tune(device, &mixed, &options, &report), RUNG_STATUS_UNSUPPORTED);
    assert_ok(rung_kernel_find(context, "cpu", "00_vendor", &vendor));
    options.kernel = vendor;
    assert_int_equal(rung_tune(device, &problem, &options, &report), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "only by name"));
    rung_context *other;
    assert_ok(rung_context_create(NULL, &other));
    assert_ok(rung_kernel_find(other, "cpu", "07", &vendor));
    options.kernel = vendor;
    assert_int_equal(rung_tune(device, &problem, &options, &report), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "of another context"));
    rung_context_destroy(other);
    options = short_options();
    problem.b.type = RUNG_I8;
    assert_int_equal(rung_tune(device, &problem, &options, &report), RUNG_STATUS_UNSUPPORTED);
    problem.b.type = RUNG_F32;
    rung_tune_report_destroy(NULL);
    options = short_options();
    options.seconds = 0.02;
    options.path = "/nonexistent/folder/file"; /* an error only if there is something to save */
    rung_status status = rung_tune(device, &problem, &options, &report);
    assert_true(status == RUNG_OK ? !report->saved : !report);
    rung_tune_report_destroy(report);
}

static void one_kernel(void **state)
{
    rung_problem problem = square(RUNG_F32, 100);
    rung_tune_options options = short_options();
    rung_tune_report *report;
    rung_kernel *kernel;
    (void)state;
    assert_ok(rung_kernel_find(context, "cpu", "07", &kernel));
    options.kernel = kernel;
    options.seconds = 0.1;
    assert_ok(rung_tune(device, &problem, &options, &report));
    assert_true(report->measured >= 1); /* the untuned plan; 07_tile2d as well if there is time */
    if (report->saved)
        assert_string_equal(report->kernel, "07_tile2d");
    rung_tune_report_destroy(report);
}

/* ---- On an OpenCL device --------------------------------------------------------------------- */

#ifdef RUNG_WITH_OPENCL

/* A kernel with one thread per element of C, whose last line is given. */
#define FILE_TEXT(last)                                                                             \
    "#include \"dialect.h\"\n#define BM 1\n#define BN 64\nKERNEL(64)\nmine(index_t m, index_t n, "  \
    "index_t k, sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view, GLOBAL const in_t "  \
    "*__restrict__ b, view_t b_view, sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)\n{\n" \
    "const uint across = (uint)((n + 63) / 64);\nconst index_t row = blockIdx.x / across, "         \
    "col = (index_t)(blockIdx.x % across) * 64 + threadIdx.x;\nif (row >= m || col >= n) return;\n" \
    "sum_t sum = 0;\nfor (index_t i = 0; i < k; i++)\n"                                             \
    "sum += widen(a[at(a_view, row, i)]) * widen(b[at(b_view, i, col)]);\n" last "\n}\n"

static int set_up_opencl(void **state)
{
    (void)state;
    return open_on("opencl");
}

static void tune_file(const char *text, int64_t tried, int64_t rejected)
{
    rung_problem problem = square(RUNG_F32, 48);
    rung_tune_options options = short_options();
    rung_tune_report *report;
    rung_kernel *kernel;
    assert_ok(rung_kernel_from_source(context, "opencl", "mine.cu", text, &kernel));
    options.kernel = kernel;
    options.seconds = 60; /* to compile; there is nothing to vary */
    assert_ok(rung_tune(device, &problem, &options, &report));
    assert_int_equal(report->measured, tried);
    assert_int_equal(report->rejected, rejected);
    assert_false(report->saved);
    assert_true(access(path, F_OK) != 0);
    if (rejected > 0)
        assert_string_not_equal(report->kernel, "mine.cu");
    rung_tune_report_destroy(report);
    rung_kernel_destroy(kernel);
}

/* Kernels of the caller's own: a right one is timed, wrong ones are rejected; none is saved, since others lack the
 * file. A kernel that writes nothing must not pass with what another left in C. */
static void files_on_opencl(void **state)
{
    (void)state;
    tune_file(FILE_TEXT("store(&c[at(c_view, row, col)], alpha, sum, beta);"), 2, 0);
    tune_file(FILE_TEXT("store(&c[at(c_view, row, col)], alpha, sum + (row == m - 1), beta);"), 1, 1);
    tune_file(FILE_TEXT("if (m < 0) store(&c[at(c_view, row, col)], alpha, sum, beta);"), 1, 1);
    tune_file(FILE_TEXT("this does not compile"), 1, 1);
}

static void one_kernel_on_opencl(void **state)
{
    rung_problem problem = square(RUNG_F32, 60);
    rung_tune_options options = short_options();
    progress_t progress = {.stop_at = 3};
    rung_tune_report *report;
    rung_kernel *kernel;
    (void)state;
    problem.beta = 1;
    problem.activation = RUNG_ACTIVATION_RELU; /* which 01_naive does not support here */
    assert_ok(rung_kernel_find(context, "opencl", "07", &kernel));
    options.kernel = kernel;
    options.seconds = 60;
    options.progress = count_progress;
    options.user = &progress;
    assert_ok(rung_tune(device, &problem, &options, &report));
    assert_true(report->measured >= 1 && report->rejected <= 2);
    assert_is_used(&problem, report);
    rung_tune_report_destroy(report);
}

#endif

#ifdef RUNG_WITH_OPENCL
static bool has_opencl(void)
{
    rung_device *opened;
    rung_status status = rung_device_open(NULL, "opencl", &opened);
    rung_device_close(opened);
    return status == RUNG_OK;
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ON_CPU(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        ON_CPU(finds_a_kernel),
        ON_CPU(accepts_any_problem),
        ON_CPU(large_results_are_sampled),
        ON_CPU(a_separate_result),
        ON_CPU(the_fastest_is_saved),
        ON_CPU(elements_are_as_large_as_sums_allow),
        ON_CPU(other_values_than_the_defaults),
        ON_CPU(progress_stops),
        ON_CPU(an_empty_path_saves_nothing),
        ON_CPU(invalid_arguments),
        ON_CPU(one_kernel),
    };
#ifdef RUNG_WITH_OPENCL
    const struct CMUnitTest on_opencl[] = {
        cmocka_unit_test_setup_teardown(files_on_opencl, set_up_opencl, tear_down),
        cmocka_unit_test_setup_teardown(one_kernel_on_opencl, set_up_opencl, tear_down),
    };
#endif
    unit_clean_environment();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
#ifdef RUNG_WITH_OPENCL
    if (has_opencl())
        failed += cmocka_run_group_tests(on_opencl, NULL, NULL);
#endif
    return failed;
}
