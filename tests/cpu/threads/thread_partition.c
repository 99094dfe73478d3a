/* SPDX-License-Identifier: Apache-2.0 */
/* thread_partition.c - how many threads a multiply on the CPU has, how C is cut between them, and that
 * neither shows in the result: every bit is the same for any number of threads, but for those of a NaN. */
#include "support/threaded_kernel.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/aligned_memory.h"
#include "core/context.h"
#include "cpu/cpu_plan.h"
#include "cpu/features.h"
#include "cpu/threads/pool.h"

/* ---- Cutting ------------------------------------------------------------------------ */

static int minimum(int a, int b)
{
    return a < b ? a : b;
}

/* Every element of C lies in one block, blocks begin at grains, and none is empty. */
static void check_grid(int m, int n, int grain_m, int grain_n, int parts)
{
    static unsigned char hit[64 * 64];
    rungi_cpu_kernel_config config = {.grain_m = grain_m, .grain_n = grain_n};
    rungi_cpu_grid grid = rungi_cpu_grid_choose(m, n, &config, parts);
    assert_in_range(grid.rows * grid.cols, 1, parts);
    assert_int_equal(grid.m_step % grain_m, 0);
    assert_int_equal(grid.n_step % grain_n, 0);
    memset(hit, 0, (size_t)(m * n));
    for (int row = 0; row < grid.rows; row++)
        for (int col = 0; col < grid.cols; col++) {
            int top = row * (int)grid.m_step, left = col * (int)grid.n_step;
            assert_true(top < m && left < n);
            for (int i = top; i < minimum(m, top + (int)grid.m_step); i++)
                for (int j = left; j < minimum(n, left + (int)grid.n_step); j++)
                    hit[i * n + j]++;
        }
    for (int i = 0; i < m * n; i++)
        assert_int_equal(hit[i], 1);
}

static void every_element_in_one_block(void **state)
{
    static const int sizes[] = {1, 2, 3, 5, 7, 12, 16, 17, 31, 47, 64};
    static const int grains[] = {1, 3, 6, 16, 100};
    enum { SIZES = sizeof sizes / sizeof *sizes, GRAINS = sizeof grains / sizeof *grains };
    (void)state;
    for (int m = 0; m < SIZES; m++)
        for (int n = 0; n < SIZES; n++)
            for (int grain_m = 0; grain_m < GRAINS; grain_m++)
                for (int grain_n = 0; grain_n < GRAINS; grain_n++)
                    for (int parts = 1; parts <= 20; parts += parts < 9 ? 1 : 3)
                        check_grid(sizes[m], sizes[n], grains[grain_m], grains[grain_n], parts);
}

static void every_block_has_a_thread(void **state)
{
    rungi_cpu_kernel_config config = {.grain_m = 6, .grain_n = 16}, one = {.grain_m = 1, .grain_n = 1};
    (void)state;
    rungi_cpu_grid square = rungi_cpu_grid_choose(960, 960, &config, 4);
    assert_true(square.rows == 2 && square.cols == 2);
    rungi_cpu_grid tall = rungi_cpu_grid_choose(10000, 16, &config, 7);
    assert_true(tall.rows == 7 && tall.cols == 1);
    rungi_cpu_grid wide = rungi_cpu_grid_choose(6, 10000, &config, 7);
    assert_true(wide.rows == 1 && wide.cols == 7);
    rungi_cpu_grid prime = rungi_cpu_grid_choose(700, 700, &one, 7); /* all seven work, in one row or column */
    assert_int_equal(prime.rows * prime.cols, 7);
    rungi_cpu_grid large = rungi_cpu_grid_choose((int64_t)1 << 40, 1, &config, 8192);
    assert_int_equal(large.rows, 8192);
    rungi_cpu_grid tiny = rungi_cpu_grid_choose(6, 16, &config, 8192);
    assert_int_equal(tiny.rows * tiny.cols, 1);
}

/* If blocks beside each other share cache lines of C, and each line is expensive, C is partitioned by rows. */
static void shared_lines_favor_rows(void **state)
{
    rungi_cpu_kernel_config config = {.grain_m = 1, .grain_n = 16};
    (void)state;
    rungi_cpu_grid free = rungi_cpu_grid_choose(40, 800, &config, 2);
    assert_true(free.rows == 1 && free.cols == 2);
    config.shared_line_cost = 1000;
    rungi_cpu_grid shared = rungi_cpu_grid_choose(40, 800, &config, 2);
    assert_true(shared.rows == 2 && shared.cols == 1);
}

/* ---- How many ------------------------------------------------------------------------- */

typedef struct thread_log {
    char last[4096];
} thread_log_t;

static void keep_line(void *user, const char *line)
{
    snprintf(((thread_log_t *)user)->last, sizeof((thread_log_t *)user)->last, "%s", line);
}

static rung_context *context_of(int64_t threads, thread_log_t *lines)
{
    rung_context *context;
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .threads = threads,
                                    .verbose = lines ? 1 : -1,
                                    .log = lines ? keep_line : NULL,
                                    .log_user = lines};
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    return context;
}

static rung_problem square_of(int64_t size)
{
    return rung_problem_of(rung_matrix_of(RUNG_F32, size, size, NULL), rung_matrix_of(RUNG_F32, size, size, NULL),
                           rung_matrix_of(RUNG_F32, size, size, NULL));
}

/* What a plan for a threaded kernel tells. */
static int64_t planned_threads(rung_context *context, const rung_problem *problem, int64_t asked)
{
    threaded_t threaded;
    rung_device *device;
    rung_plan *plan;
    assert_true(threaded_make(context, &threaded));
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = &threaded.kernel, .threads = asked};
    assert_int_equal(rung_plan_create(device, problem, &options, &plan), RUNG_OK);
    int64_t threads = rung_plan_describe(plan)->threads;
    rung_plan_destroy(plan);
    rung_device_close(device);
    return threads;
}

static void thread_count_precedence(void **state)
{
    rung_problem problem = square_of(1000);
    (void)state;
    rung_context *context = context_of(0, NULL);
    assert_int_equal(planned_threads(context, &problem, 0), rungi_processors_count());
    assert_int_equal(planned_threads(context, &problem, 5), 5);
    rung_context_destroy(context);

    context = context_of(3, NULL);
    assert_int_equal(planned_threads(context, &problem, 0), 3);
    assert_int_equal(planned_threads(context, &problem, 1), 1);
    assert_int_equal(planned_threads(context, &problem, 6), 6);
    rung_context_destroy(context);

    setenv("RUNG_THREADS", "4", 1);
    context = context_of(0, NULL);
    assert_int_equal(planned_threads(context, &problem, 0), 4);
    assert_int_equal(planned_threads(context, &problem, 2), 2);
    rung_context_destroy(context);
    context = context_of(3, NULL); /* the option comes first */
    unsetenv("RUNG_THREADS");
    assert_int_equal(planned_threads(context, &problem, 0), 3);
    rung_context_destroy(context);
}

/* No more than there is work for, and kernels that are not cut have one. */
static void small_problems_use_one_thread(void **state)
{
    rung_context *context = context_of(7, NULL);
    rung_problem problem = square_of(32);
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(planned_threads(context, &problem, 0), 1);
    problem.batch = 10000;
    problem.a.batch_stride = problem.b.batch_stride = problem.c.batch_stride = 32 * 32;
    assert_int_equal(planned_threads(context, &problem, 0), 7);
    problem = square_of(80);
    assert_in_range(planned_threads(context, &problem, 0), 2, 6);
    problem = rung_problem_of(rung_matrix_of(RUNG_F32, 6, 9999999, NULL), rung_matrix_of(RUNG_F32, 9999999, 16, NULL),
                              rung_matrix_of(RUNG_F32, 6, 16, NULL));
    assert_int_equal(planned_threads(context, &problem, 0), 1); /* one grain of C, however long k is */
    problem = rung_problem_of(rung_matrix_of(RUNG_F32, 0, 9999999, NULL), rung_matrix_of(RUNG_F32, 9999999, 16, NULL),
                              rung_matrix_of(RUNG_F32, 0, 16, NULL));
    assert_int_equal(planned_threads(context, &problem, 0), 1);

    rung_device *device;
    rung_plan *plan;
    problem = square_of(1000);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_kernel_find(context, "cpu", "naive", &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel, .threads = 7};
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_OK);
    assert_int_equal(rung_plan_describe(plan)->threads, 1);
    rung_plan_destroy(plan);
    rung_device_close(device);
    rung_context_destroy(context);
}

/* Both kinds of calls, also where the fast path would take them. */
static void assert_calls_reject(rung_device *device, int64_t threads)
{
    float memory[3][8 * 8] = {{0}};
    char words[128];
    rung_problem problem = square_of(8);
    rung_queue *queue;
    rung_plan *plan;
    problem.a.data = memory[0];
    problem.b.data = memory[1];
    problem.c.data = memory[2];
    rung_multiply_options options = rung_multiply_options_default();
    rung_run_options run = rung_run_options_default();
    options.threads = run.threads = threads;
    assert_int_equal(rung_multiply(rung_device_context(device), &problem, &options), RUNG_STATUS_INVALID);
    snprintf(words, sizeof words, "threads is %lld; valid numbers are 1 to 8192 (0 selects the context's number)",
             (long long)threads);
    assert_string_equal(rung_error_text(), words);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, &run), RUNG_STATUS_INVALID);
    snprintf(words, sizeof words, "threads is %lld; valid numbers are 1 to 8192 (0 selects all threads of the plan)",
             (long long)threads);
    assert_string_equal(rung_error_text(), words);
    rung_plan_destroy(plan);
    rung_queue_destroy(queue);
}

static void options_without_a_size(void **state)
{
    rung_multiply_options options = {.threads = 1};
    rung_problem problem = square_of(0);
    (void)state;
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_multiply_options_default()"));
    options = rung_multiply_options_default();
    assert_int_equal(rung_multiply(NULL, &problem, &options), RUNG_OK);
}

static void invalid_thread_counts(void **state)
{
    static const int64_t wrong[] = {-1, INT64_MIN, RUNGI_THREADS_MAX + 1, INT64_MAX};
    static const char *const words[] = {"0", "-2", "many", "2x", "8193", "99999999999999999999", "1.5", " "};
    rung_problem problem = square_of(8);
    rung_context *context = context_of(0, NULL), *none;
    rung_device *device;
    rung_plan *plan;
    thread_log_t lines;
    (void)state;
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rung_context_options options = {.size = sizeof(rung_context_options), .threads = wrong[i]};
        rung_plan_options choice = {.size = sizeof(rung_plan_options), .threads = wrong[i]};
        assert_int_equal(rung_context_create(&options, &none), RUNG_STATUS_INVALID);
        assert_null(none);
        assert_non_null(strstr(rung_error_text(), "threads"));
        assert_int_equal(rung_plan_create(device, &problem, &choice, &plan), RUNG_STATUS_INVALID);
        assert_null(plan);
        assert_non_null(strstr(rung_error_text(), "1 to 8192"));
        assert_calls_reject(device, wrong[i]);
    }
    rung_device_close(device);
    rung_context_destroy(context);
    problem = square_of(1000);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        memset(&lines, 0, sizeof lines);
        setenv("RUNG_THREADS", words[i], 1);
        context = context_of(0, &lines);
        assert_non_null(strstr(lines.last, "RUNG_THREADS"));
        assert_non_null(strstr(lines.last, words[i]));
        assert_int_equal(planned_threads(context, &problem, 0), rungi_processors_count());
        rung_context_destroy(context);
    }
    memset(&lines, 0, sizeof lines);
    setenv("RUNG_THREADS", "", 1); /* empty is as good as unset */
    rung_context_destroy(context_of(0, &lines));
    assert_string_equal(lines.last, "");
    unsetenv("RUNG_THREADS");
}

/* ---- Fewer threads per run ------------------------------------------------------------ */

/* Runs a plan of 6 threads with `threads`, and returns how many took part. */
static int threads_used_by(rung_plan *plan, rung_queue *queue, const rung_problem *problem, int64_t threads,
                           rung_event *signal)
{
    rung_run_options options = rung_run_options_default();
    options.threads = threads;
    options.signal = signal; /* not the fast path */
    threaded_begin_round();
    assert_int_equal(rung_plan_run(plan, queue, problem, &options), RUNG_OK);
    return atomic_load(&threaded_thread_count);
}

/* At most as many threads as a run allows take part, on both paths. How many of them come in time is left to chance,
 * so several runs are counted. */
static void runs_with_fewer_threads(void **state)
{
    enum { SIDE = 160, RUNS = 6, PLANNED = 6 };
    rung_context *context = context_of(PLANNED, NULL);
    rung_problem problem = square_of(SIDE);
    rung_device *device;
    rung_queue *queue;
    rung_event *event;
    rung_plan *plan;
    threaded_t threaded;
    (void)state;
    problem.a.data = calloc(SIDE * SIDE, sizeof(float));
    problem.b.data = calloc(SIDE * SIDE, sizeof(float));
    problem.c.data = calloc(SIDE * SIDE, sizeof(float));
    assert_true(threaded_make(context, &threaded));
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_event_create(device, &event), RUNG_OK);
    rung_plan_options options = rung_plan_options_default();
    options.kernel = &threaded.kernel;
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_OK);
    assert_int_equal(rung_plan_describe(plan)->threads, PLANNED);
    for (int64_t threads = 1; threads <= PLANNED + 2; threads++)
        for (int i = 0; i < RUNS; i++)
            assert_in_range(threads_used_by(plan, queue, &problem, threads, i % 2 ? event : NULL), 1,
                            minimum((int)threads, PLANNED));
    int most = 0;
    for (int i = 0; i < 100 && most < 2; i++)
        most = threads_used_by(plan, queue, &problem, 0, NULL);
    assert_true(most > 1);
    rung_plan_destroy(plan);
    rung_event_destroy(event);
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    free(problem.a.data);
    free(problem.b.data);
    free(problem.c.data);
}

/* The log says how many there were. */
static void fewer_threads_are_logged(void **state)
{
    enum { SIDE = 300 };
    thread_log_t lines;
    rung_context *context = context_of(6, &lines);
    rung_problem problem = square_of(SIDE);
    rung_multiply_options options = rung_multiply_options_default();
    (void)state;
    problem.a.data = calloc(SIDE * SIDE, sizeof(float));
    problem.b.data = calloc(SIDE * SIDE, sizeof(float));
    problem.c.data = calloc(SIDE * SIDE, sizeof(float));
    options.threads = 2;
    assert_int_equal(rung_multiply(context, &problem, &options), RUNG_OK);
    assert_non_null(strstr(lines.last, " 2 threads "));
    assert_non_null(strstr(lines.last, " --threads 2"));
    options.threads = 1;
    assert_int_equal(rung_multiply(context, &problem, &options), RUNG_OK);
    assert_null(strstr(lines.last, " threads "));
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    assert_non_null(strstr(lines.last, " 6 threads "));
    rung_context_destroy(context);
    free(problem.a.data);
    free(problem.b.data);
    free(problem.c.data);
}

/* ---- The same bits ---------------------------------------------------------------------- */

typedef struct thread_shape {
    int64_t m, n, k, batch;
    bool by_columns; /* C */
} thread_shape_t;

static const thread_shape_t shapes[] = {
    {131, 67, 83, 1, false},  {67, 131, 83, 1, true}, {1, 997, 700, 1, false}, {997, 1, 700, 1, true},
    {129, 130, 40, 1, false}, {33, 31, 129, 5, true}, {40, 17, 90, 23, false},
};

static int64_t special_rate; /* one of so many elements is a NaN or an infinity; 0: none is */

/* A NaN of any sign and payload, or an infinity. */
static void set_special(uint64_t *seed, rung_type type, void *values, int64_t i)
{
    uint64_t bits = (uint64_t)unit_random(seed, INT64_C(1) << 31) << 31 ^ (uint64_t)unit_random(seed, INT64_C(1) << 31);
    bool is_nan = unit_random(seed, 4) > 0;
    uint64_t sign = (uint64_t)unit_random(seed, 2), payload = is_nan ? bits : 0;
    switch (type) {
    case RUNG_F32:
        ((uint32_t *)values)[i] = (uint32_t)(sign << 31 | 0x7f800000 | (is_nan ? 0x400000 : 0) | (payload & 0x3fffff));
        break;
    case RUNG_F64:
        ((uint64_t *)values)[i] = sign << 63 | UINT64_C(0x7ff) << 52 | (uint64_t)is_nan << 51 |
                                  (payload & ((UINT64_C(1) << 51) - 1));
        break;
    case RUNG_F16:
        ((uint16_t *)values)[i] = (uint16_t)(sign << 15 | 0x7c00 | (is_nan ? 0x200 : 0) | (payload & 0x1ff));
        break;
    case RUNG_BF16:
        ((uint16_t *)values)[i] = (uint16_t)(sign << 15 | 0x7f80 | (is_nan ? 0x40 : 0) | (payload & 0x3f));
        break;
    default: break;
    }
}

/* Numbers whose sums depend on their order, in every type. */
static void fill(uint64_t *seed, rung_type type, void *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double value = (double)(unit_random(seed, 1 << 24) - (1 << 23)) / (1 << 23);
        switch (type) {
        case RUNG_F32: ((float *)values)[i] = (float)value; break;
        case RUNG_F64: ((double *)values)[i] = value; break;
        case RUNG_F16: ((uint16_t *)values)[i] = rung_f16_from_f32((float)value); break;
        case RUNG_BF16: ((uint16_t *)values)[i] = rung_bf16_from_f32((float)value); break;
        case RUNG_I8: ((int8_t *)values)[i] = (int8_t)(value * 127); break;
        case RUNG_I32: ((int32_t *)values)[i] = (int32_t)(value * 30000); break;
        default: break;
        }
        if (special_rate > 0 && unit_random(seed, special_rate) == 0)
            set_special(seed, type, values, i);
    }
}

typedef struct thread_operands {
    rung_problem problem;
    int64_t bytes; /* of C */
    void *before;
} thread_operands_t;

static rung_matrix filled(uint64_t *seed, rung_type type, int64_t rows, int64_t cols, int64_t batch, bool by_columns)
{
    void *data = malloc((size_t)(rows * cols * batch * rung_type_size(type)));
    assert_non_null(data);
    fill(seed, type, data, rows * cols * batch);
    rung_matrix matrix = by_columns ? rung_matrix_transpose(rung_matrix_of(type, cols, rows, data))
                                    : rung_matrix_of(type, rows, cols, data);
    matrix.batch_stride = rows * cols;
    return matrix;
}

static thread_operands_t make_operands(const thread_shape_t *shape, rung_type in, rung_type out)
{
    uint64_t seed = (uint64_t)(shape->m * 1000 + shape->n);
    thread_operands_t made = {.bytes = shape->m * shape->n * shape->batch * rung_type_size(out)};
    made.problem = rung_problem_of(filled(&seed, in, shape->m, shape->k, shape->batch, false),
                                   filled(&seed, in, shape->k, shape->n, shape->batch, shape->batch > 5),
                                   filled(&seed, out, shape->m, shape->n, shape->batch, shape->by_columns));
    made.problem.batch = shape->batch;
    made.problem.alpha = 3;
    made.problem.beta = -2;
    if (shape->m % 2 == 0 || shape->by_columns) { /* what follows is cut as well */
        made.problem.bias = filled(&seed, out, shape->m, shape->n, shape->batch, false);
        made.problem.multiplier = filled(&seed, out, shape->m, shape->n, shape->batch, shape->m % 4 == 0);
        made.problem.residual = filled(&seed, out, shape->m, shape->n, shape->batch, true);
        made.problem.activation = RUNG_ACTIVATION_RELU;
    }
    made.before = malloc((size_t)made.bytes);
    assert_non_null(made.before);
    memcpy(made.before, made.problem.c.data, (size_t)made.bytes);
    return made;
}

static void free_operands(thread_operands_t *made)
{
    free(made->problem.a.data);
    free(made->problem.b.data);
    free(made->problem.c.data);
    free(made->problem.bias.data);
    free(made->problem.multiplier.data);
    free(made->problem.residual.data);
    free(made->before);
}

/* Computes C with a plan of so many threads, of which the run uses `fewer` (0: all). Returns how many threads the plan has; 0 if
 * no plan can be created. */
static int64_t multiply(rung_device *device, const rung_kernel *kernel, thread_operands_t *made, int64_t threads,
                        int64_t fewer)
{
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel, .threads = threads};
    rung_plan *plan;
    rung_queue *queue;
    rung_status status = rung_plan_create(device, &made->problem, &options, &plan);
    if (status == RUNG_STATUS_UNSUPPORTED)
        return 0;
    assert_int_equal(status, RUNG_OK);
    int64_t planned = rung_plan_describe(plan)->threads;
    memcpy(made->problem.c.data, made->before, (size_t)made->bytes);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    rung_run_options run = rung_run_options_default();
    run.threads = fewer;
    assert_int_equal(rung_plan_run(plan, queue, &made->problem, fewer ? &run : NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    rung_queue_destroy(queue);
    rung_plan_destroy(plan);
    return planned;
}

/* True if it was cut between threads at all. */
static bool compare(rung_device *device, const rung_kernel *kernel, const thread_shape_t *shape, rung_type in,
                    rung_type out)
{
    static const int64_t counts[] = {7, 3, 2, 7};
    thread_operands_t made = make_operands(shape, in, out);
    int64_t alone = multiply(device, kernel, &made, 1, 0), most = 0;
    assert_in_range(alone, 0, 1);
    void *expected = malloc((size_t)made.bytes);
    assert_non_null(expected);
    memcpy(expected, made.problem.c.data, (size_t)made.bytes);
    for (size_t i = 0; alone == 1 && i < sizeof counts / sizeof *counts; i++) {
        int64_t planned = multiply(device, kernel, &made, counts[i],
                                   (int64_t)i); /* 7 threads, 1 of 3, 2 of 2, 3 of 7 */
        assert_in_range(planned, 1, counts[i]);
        if (memcmp(made.problem.c.data, expected, (size_t)made.bytes) != 0)
            fail_msg("%s, %s:%s, %lld x %lld x %lld, %lld items: other bits on %lld threads than on one",
                     kernel ? kernel->info.name : "the library's choice", rung_type_name(in), rung_type_name(out),
                     (long long)shape->m, (long long)shape->n, (long long)shape->k, (long long)shape->batch,
                     (long long)counts[i]);
        most = planned > most ? planned : most;
        if (planned == 1)
            break; /* it is not cut */
    }
    free(expected);
    free_operands(&made);
    return most > 1;
}

/* How many were cut, of all shapes and a quarter of the products each, in turn. */
static int compare_all(rung_device *device, const rung_kernel *kernel)
{
    int cut = 0, turn = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
#define X(in, out, sum, word)                                                                 \
    if (RUNG_##in <= RUNG_I32 && turn++ % 4 == 0) /* no CPU kernel multiplies 8-bit floats */ \
        cut += compare(device, kernel, &shapes[i], RUNG_##in, RUNG_##out);
        RUNGI_GEMM_TYPES_LIST(X)
#undef X
    }
    return cut;
}

/* Each kernel of the ladder but the vendor's, which promises nothing of the kind, the library's
 * choice, and one of ours that is surely cut. */
static void the_same_bits(void **state)
{
    rung_context *context = context_of(0, NULL);
    rung_device *device;
    rung_kernel *kernel;
    threaded_t threaded;
    (void)state;
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_true(threaded_make(context, &threaded));
    assert_int_equal(compare_all(device, &threaded.kernel), 20);
    print_message("the library's choice: %d cut\n", compare_all(device, NULL));
    for (int64_t i = 0; rung_kernel_at(context, "cpu", i, &kernel) == RUNG_OK; i++)
        if (kernel->info.number > 0)
            print_message("%s: %d cut\n", kernel->info.name, compare_all(device, kernel));
    rung_device_close(device);
    rung_context_destroy(context);
}

/* Ways that 10_pipeline takes where B or A is large, of which no part may be as large. */
static void same_bits_for_large_problems(void **state)
{
    static const thread_shape_t large[] = {
        {1, 997, 700, 1, false},
        {20, 600, 700, 1, false},
        {60, 700, 800, 1, false},
        {300, 2000, 512, 1, false},
    };
    rung_context *context = context_of(0, NULL);
    rung_device *device;
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_kernel_find(context, "cpu", "10", &kernel), RUNG_OK);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        assert_true(compare(device, kernel, &large[i], RUNG_F32, RUNG_F32));
        assert_true(compare(device, kernel, &large[i], RUNG_F64, RUNG_F32)); /* sums wait beside C */
    }
    rung_device_close(device);
    rung_context_destroy(context);
}

/* ---- NaN ------------------------------------------------------------------------------------ */

static bool is_nan(rung_type type, const void *values, int64_t i)
{
    switch (type) {
    case RUNG_F64: return isnan(((const double *)values)[i]);
    case RUNG_F16: return isnan(rung_f16_to_f32(((const uint16_t *)values)[i]));
    case RUNG_BF16: return isnan(rung_bf16_to_f32(((const uint16_t *)values)[i]));
    default: return isnan(((const float *)values)[i]);
    }
}

/* Elements whose bits differ, unless both are NaN. */
static int64_t differences(rung_type type, const void *x, const void *y, int64_t count, int64_t *nans)
{
    size_t size = (size_t)rung_type_size(type);
    int64_t different = 0;
    *nans = 0;
    for (int64_t i = 0; i < count; i++) {
        bool is_same = memcmp((const char *)x + (size_t)i * size, (const char *)y + (size_t)i * size, size) == 0;
        *nans += is_nan(type, x, i);
        different += !is_same && !(is_nan(type, x, i) && is_nan(type, y, i));
    }
    return different;
}

/* One product of matrices with some NaN and infinities, on 2 to 5 threads. */
static void compare_special(rung_device *device, const rung_kernel *kernel, const thread_shape_t *shape, rung_type in,
                            rung_type out, double beta)
{
    thread_operands_t made = make_operands(shape, in, out);
    int64_t count = shape->m * shape->n, nans;
    void *expected = malloc((size_t)made.bytes);
    assert_non_null(expected);
    made.problem.beta = beta;
    if (multiply(device, kernel, &made, 1, 0) == 1) {
        memcpy(expected, made.problem.c.data, (size_t)made.bytes);
        for (int threads = 2; threads <= 5; threads++) {
            multiply(device, kernel, &made, threads, 0);
            if (differences(out, expected, made.problem.c.data, count, &nans) != 0)
                fail_msg("%s, %s:%s, %lld x %lld x %lld: other bits on %d threads than on one", kernel->info.name,
                         rung_type_name(in), rung_type_name(out), (long long)shape->m, (long long)shape->n,
                         (long long)shape->k, threads);
            assert_in_range(nans, 1, count - 1); /* there are NaN, and other numbers */
        }
    }
    free(expected);
    free_operands(&made);
}

/* Where a result is NaN for one number of threads it is for all, on every instruction set; its sign and payload are
 * not promised. All other elements have the same bits. */
static void only_bits_of_nan_may_differ(void **state)
{
    static const thread_shape_t special[] = {
        {101, 67, 83, 1, false}, {57, 131, 150, 1, true}, {130, 42, 211, 1, false}};
    (void)state;
    for (int isa = 0; isa < RUNGI_ISA_COUNT; isa++) {
        rung_context *context = context_of(0, NULL);
        rung_device *device;
        setenv("RUNG_CPU_ISA", rungi_isa_name((rungi_isa)isa), 1);
        assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
        special_rate = 3000;
        for (int i = 0; i < 3; i++) {
            rung_kernel *kernel;
            const thread_shape_t *shape = &special[i];
            double beta = i % 2 ? -2 : 0;
            assert_int_equal(rung_kernel_find(context, "cpu", "10", &kernel), RUNG_OK);
            compare_special(device, kernel, shape, RUNG_F32, RUNG_F32, beta);
            compare_special(device, kernel, shape, RUNG_F64, RUNG_F64, beta);
            compare_special(device, kernel, shape, RUNG_F16, RUNG_F16, beta);
            assert_int_equal(rung_kernel_find(context, "cpu", "12", &kernel), RUNG_OK);
            compare_special(device, kernel, shape, RUNG_BF16, RUNG_F32, beta);
        }
        special_rate = 0;
        rung_device_close(device);
        rung_context_destroy(context);
    }
    unsetenv("RUNG_CPU_ISA");
}

/* ---- Many callers ------------------------------------------------------------------------- */

enum { CALLERS = 200, RUNS = 2 };

typedef struct concurrent_caller {
    rung_device *device;
    rung_plan *plan;
    const thread_operands_t *made; /* of whom A and B are shared, */
    const void *expected;
    void *c; /* and C is not */
    int failures;
} concurrent_caller_t;

static void *run_often(void *user)
{
    concurrent_caller_t *own = user;
    rung_problem problem = own->made->problem;
    rung_queue *queue;
    problem.c.data = own->c;
    own->failures = rung_queue_create(own->device, &queue) != RUNG_OK;
    for (int i = 0; own->failures == 0 && i < RUNS; i++) {
        memcpy(own->c, own->made->before, (size_t)own->made->bytes);
        if (rung_plan_run(own->plan, queue, &problem, NULL) != RUNG_OK ||
            memcmp(own->c, own->expected, (size_t)own->made->bytes) != 0)
            own->failures++;
    }
    rung_queue_destroy(queue);
    return NULL;
}

/* One plan on two threads, run by two hundred at once: all get the same bits as one alone. */
static void two_hundred_callers(void **state)
{
    rung_context *context = context_of(0, NULL);
    concurrent_caller_t callers[CALLERS], first = {.expected = NULL};
    pthread_t threads[CALLERS];
    threaded_t threaded;
    thread_operands_t made = make_operands(&(thread_shape_t){77, 77, 77, 1, false}, RUNG_F32, RUNG_F32);
    (void)state;
    assert_int_equal(rung_device_open(context, "cpu", &first.device), RUNG_OK);
    assert_true(threaded_make(context, &threaded));
    assert_int_equal(multiply(first.device, &threaded.kernel, &made, 1, 0), 1);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = &threaded.kernel, .threads = 2};
    assert_int_equal(rung_plan_create(first.device, &made.problem, &options, &first.plan), RUNG_OK);
    assert_int_equal(rung_plan_describe(first.plan)->threads, 2);
    first.made = &made;
    first.expected = made.problem.c.data;
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = first;
        callers[i].c = malloc((size_t)made.bytes);
        assert_non_null(callers[i].c);
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].failures, 0);
        free(callers[i].c);
    }
    rung_plan_destroy(first.plan);
    rung_device_close(first.device);
    rung_context_destroy(context);
    free_operands(&made);
}

/* ---- Memory -------------------------------------------------------------------------------- */

/* Blocks of the context's allocator that are large enough to be a thread's scratch. */
static atomic_llong blocks, block_bytes, calls;

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    enum { LARGE = 256 << 10 };
    (void)user;
    atomic_fetch_add(&calls, 1);
    if (bytes >= LARGE) {
        atomic_fetch_add(&blocks, 1);
        atomic_fetch_add(&block_bytes, (long long)bytes);
    }
    return rungi_aligned_allocate(alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes);
}

static void release(void *user, void *memory)
{
    (void)user;
    rungi_aligned_free(memory);
}

/* A plan allocates scratch for the threads that it uses, and not for every processor; running it allocates nothing. */
static void scratch_covers_only_used_threads(void **state)
{
    enum { MOST = 5 };
    thread_operands_t made = make_operands(&(thread_shape_t){450, 450, 450, 1, false}, RUNG_F32, RUNG_F32);
    (void)state;
    for (int threads = 1; threads <= MOST; threads++) {
        rung_context *context;
        rung_device *device;
        rung_queue *queue;
        rung_plan *plan;
        rung_kernel *kernel;
        rung_context_options options = {
            .size = sizeof(rung_context_options), .verbose = -1, .allocate = allocate, .release = release};
        assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
        assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
        assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
        assert_int_equal(rung_kernel_find(context, "cpu", "10", &kernel), RUNG_OK);
        atomic_store(&blocks, 0);
        atomic_store(&block_bytes, 0);
        assert_int_equal(
            rung_plan_create(
                device, &made.problem,
                &(rung_plan_options){.size = sizeof(rung_plan_options), .kernel = kernel, .threads = threads}, &plan),
            RUNG_OK);
        assert_int_equal(rung_plan_describe(plan)->threads, threads);
        assert_int_equal(atomic_load(&blocks), threads);
        assert_true(atomic_load(&block_bytes) <= (long long)threads * (4 << 20));
        atomic_store(&calls, 0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(rung_plan_run(plan, queue, &made.problem, NULL), RUNG_OK);
        assert_int_equal(atomic_load(&calls), 0);
        rung_plan_destroy(plan);
        rung_queue_destroy(queue);
        rung_device_close(device);
        rung_context_destroy(context);
    }
    free_operands(&made);
}

/* ---- The log ------------------------------------------------------------------------------ */

static void the_log_reports_threads(void **state)
{
    thread_log_t lines = {""};
    rung_context *context = context_of(3, &lines);
    rung_device *device;
    threaded_t threaded;
    thread_operands_t made = make_operands(&shapes[0], RUNG_F32, RUNG_F32);
    (void)state;
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_true(threaded_make(context, &threaded));
    assert_int_equal(multiply(device, &threaded.kernel, &made, 0, 0), 3);
    assert_non_null(strstr(lines.last, "f32 3 threads "));
    assert_non_null(strstr(lines.last, " --threads 3 "));
    assert_int_equal(multiply(device, &threaded.kernel, &made, 1, 0), 1);
    assert_null(strstr(lines.last, "threads"));
    free_operands(&made);
    rung_device_close(device);
    rung_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_in_one_block),    cmocka_unit_test(every_block_has_a_thread),
        cmocka_unit_test(shared_lines_favor_rows),       cmocka_unit_test(thread_count_precedence),
        cmocka_unit_test(small_problems_use_one_thread), cmocka_unit_test(invalid_thread_counts),
        cmocka_unit_test(options_without_a_size),        cmocka_unit_test(runs_with_fewer_threads),
        cmocka_unit_test(fewer_threads_are_logged),      cmocka_unit_test(the_same_bits),
        cmocka_unit_test(same_bits_for_large_problems),  cmocka_unit_test(only_bits_of_nan_may_differ),
        cmocka_unit_test(two_hundred_callers),           cmocka_unit_test(scratch_covers_only_used_threads),
        cmocka_unit_test(the_log_reports_threads),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
