/* SPDX-License-Identifier: Apache-2.0 */
/* balance.c - how evenly plans of 1 to 64 threads divide C: the shapes of docs/reference/cpu-performance.md and 20 random
 * ones. The kernels choose their blocks, but only record them. One thread runs all parts; which thread would take a part is
 * simulated: the one that is free first. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>

#include "core/context.h"
#include "core/kernel.h"
#include "cpu/features.h"
#include "cpu/kernels/cpu_kernels.h"

enum { THREADS_MAX = 64, PARTS_MAX = 4096, RANDOM_SHAPES = 20 };

/* ---- Recording ------------------------------------------------------------------------ */

static struct {
    int64_t parts;
    double work[PARTS_MAX]; /* elements of C */
} recorded;

static void record_block(const rungi_cpu_job *job)
{
    if (recorded.parts < PARTS_MAX)
        recorded.work[recorded.parts] = (double)job->m * (double)job->n;
    recorded.parts++;
}

static void one_after_another(void *user, int64_t parts, rung_work_function work, void *work_user)
{
    (void)user;
    for (int64_t part = 0; part < parts; part++)
        work(work_user, part);
}

/* ---- Balance ------------------------------------------------------------------------ */

/* How far a plan is from an even division. 1 is even. */
typedef struct balance {
    int64_t threads; /* 0: the kernel rejects the shape */
    double
        thread; /* time of the slowest thread divided by the mean, if each part goes to the thread that is free first */
    double part; /* largest part divided by the mean */
} balance_t;

static balance_t balance_of_recorded(int64_t threads)
{
    double busy[THREADS_MAX] = {0}, total = 0, longest = 0, largest = 0;
    for (int64_t part = 0; part < recorded.parts; part++) {
        int64_t first = 0;
        for (int64_t i = 1; i < threads; i++)
            first = busy[i] < busy[first] ? i : first;
        busy[first] += recorded.work[part];
        total += recorded.work[part];
        longest = fmax(longest, busy[first]);
        largest = fmax(largest, recorded.work[part]);
    }
    return (balance_t){threads, longest * (double)threads / total, largest * (double)recorded.parts / total};
}

typedef struct shape {
    int64_t m, n, k;
} shape_t;

static const shape_t documented[] = {
    {64, 64, 64},       {128, 128, 128},    {256, 256, 256},    {512, 512, 512},    {1000, 1000, 1000},
    {1023, 1023, 1023}, {1024, 1024, 1024}, {2048, 2048, 2048}, {1, 4096, 4096},    {16, 4096, 4096},
    {64, 4096, 4096},   {4096, 4096, 64},   {4095, 4095, 4095}, {4096, 4096, 4096},
};
enum { DOCUMENTED = sizeof documented / sizeof *documented, SHAPES = DOCUMENTED + RANDOM_SHAPES };

/* Returns a size from 1 to 4096; each power of two is equally likely. */
static int64_t random_size(uint64_t *seed)
{
    return (int64_t)exp2((double)unit_random(seed, 12000) / 1000) + 1;
}

static shape_t shape_at(int index)
{
    uint64_t seed = 28;
    shape_t shape = documented[0];
    if (index < DOCUMENTED)
        return documented[index];
    for (int i = DOCUMENTED; i <= index; i++)
        shape = (shape_t){random_size(&seed), random_size(&seed), random_size(&seed)};
    return shape;
}

/* ---- Plans ------------------------------------------------------------------------------- */

typedef struct balance_test {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_kernel kernel; /* a copy that records */
    rungi_ladder_step step;
    rungi_cpu_kernel table;
    char *memory; /* addresses only */
} balance_test_t;

static const size_t operand_bytes = (size_t)4096 * 4096 * 8;

static void open_test(balance_test_t *test, const char *name)
{
    rung_kernel *kernel;
    rung_context_options options = rung_context_options_default();
    options.threads = THREADS_MAX;
    options.verbose = -1;
    options.parallel_for = one_after_another;
    assert_int_equal(rung_context_create(&options, &test->context), RUNG_OK);
    assert_int_equal(rung_device_open(test->context, "cpu", &test->device), RUNG_OK);
    assert_int_equal(rung_queue_create(test->device, &test->queue), RUNG_OK);
    assert_int_equal(rung_kernel_find(test->context, "cpu", name, &kernel), RUNG_OK);
    test->kernel = *kernel;
    test->step = *kernel->step;
    test->table = *(const rungi_cpu_kernel *)kernel->step->function;
    test->table.run = record_block;
    test->step.function = &test->table;
    test->kernel.step = &test->step;
    test->memory = mmap(NULL, 3 * operand_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(test->memory != MAP_FAILED);
}

static void close_test(balance_test_t *test)
{
    munmap(test->memory, 3 * operand_bytes);
    rung_queue_destroy(test->queue);
    rung_device_close(test->device);
    rung_context_destroy(test->context);
}

/* Creates and runs a plan, and checks that its parts are all of C. */
static balance_t measure(balance_test_t *test, shape_t shape, rung_type type, int64_t requested)
{
    rung_plan *plan;
    rung_plan_options options = rung_plan_options_default();
    rung_problem problem = rung_problem_of(
        rung_matrix_of(type, shape.m, shape.k, test->memory),
        rung_matrix_of(type, shape.k, shape.n, test->memory + operand_bytes),
        rung_matrix_of(type == RUNG_BF16 ? RUNG_F32 : type, shape.m, shape.n, test->memory + 2 * operand_bytes));
    options.threads = requested;
    options.kernel = &test->kernel;
    rung_status status = rung_plan_create(test->device, &problem, &options, &plan);
    if (status == RUNG_STATUS_UNSUPPORTED)
        return (balance_t){0, 0, 0};
    assert_int_equal(status, RUNG_OK);
    recorded.parts = 0;
    assert_int_equal(rung_plan_run(plan, test->queue, &problem, NULL), RUNG_OK);
    int64_t threads = rung_plan_describe(plan)->threads;
    rung_plan_destroy(plan);
    assert_in_range(recorded.parts, threads, PARTS_MAX);
    assert_in_range(threads, 1, requested);
    double total = 0;
    for (int64_t i = 0; i < recorded.parts; i++)
        total += recorded.work[i];
    assert_true(total == (double)shape.m * (double)shape.n); /* all of C, once */
    return balance_of_recorded(threads);
}

/* ---- Limits --------------------------------------------------------------------------------- */

/* What the plans reach. In the worst ones a few threads compute two parts while the others wait: there are a few more parts
 * than threads, or C has so few tiles that a part is one tile and the last part is what remains. */
static const double thread_max = 1.96, thread_mean_max = 1.10, part_max = 1.96;

static const struct {
    const char *kernel;
    rung_type type;
} cases[] = {{"10", RUNG_F32}, {"10", RUNG_F64}, {"12", RUNG_BF16}};

/* Measures all shapes and numbers of threads. Fails for a plan beyond a limit. */
static void check_case(const char *isa, const char *kernel, rung_type type)
{
    balance_test_t test;
    double worst_thread = 1, worst_part = 1, log_sum = 0;
    int64_t plans = 0;
    open_test(&test, kernel);
    for (int i = 0; i < SHAPES; i++)
        for (int64_t requested = 1; requested <= THREADS_MAX; requested++) {
            shape_t shape = shape_at(i);
            balance_t found = measure(&test, shape, type, requested);
            if (found.threads == 0)
                continue;
            if (found.thread > thread_max || found.part > part_max)
                fail_msg(
                    "%s, kernel %s, %s, %lld x %lld x %lld on %lld threads: the slowest thread has %.3f of the mean "
                    "(limit %.3f), the largest of %lld parts %.3f (limit %.3f); see rungi_cpu_grid_choose()",
                    isa, kernel, rung_type_name(type), (long long)shape.m, (long long)shape.n, (long long)shape.k,
                    (long long)found.threads, found.thread, thread_max, (long long)recorded.parts, found.part,
                    part_max);
            worst_thread = fmax(worst_thread, found.thread);
            worst_part = fmax(worst_part, found.part);
            log_sum += log(found.thread);
            plans++;
        }
    double mean = plans > 0 ? exp(log_sum / (double)plans) : 1;
    print_message("%s, kernel %s, %s: slowest thread %.3f of the mean, %.3f in the geometric mean; largest part %.3f\n",
                  isa, kernel, rung_type_name(type), worst_thread, mean, worst_part);
    assert_true(mean <= thread_mean_max);
    close_test(&test);
}

static void plans_divide_c_evenly(void **state)
{
    (void)state;
    for (int isa = 0; isa < RUNGI_ISA_COUNT; isa++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const char *name = rungi_isa_name((rungi_isa)isa);
            setenv("RUNG_CPU_ISA", name, 1);
            check_case(name, cases[i].kernel, cases[i].type);
        }
    unsetenv("RUNG_CPU_ISA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_divide_c_evenly),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
