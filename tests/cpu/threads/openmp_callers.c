/* SPDX-License-Identifier: Apache-2.0 */
/* openmp_callers.c - multiplications inside parallel regions of OpenMP: the right results, no more threads in the process
 * than the context has for one caller, and no more threads that compute than processors or than the plan requests. */
#include "support/counted_threads.h"
#include "support/threaded_kernel.h"

#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/context.h"
#include "cpu/threads/pool.h"

enum { SIZE = 150, THREADS = 4, RUNS = 10 };

/* ---- Counting ----------------------------------------------------------------------- */

static atomic_int computing, most_computing; /* threads in the kernel now, and at most so far */

static void counted_run(const rungi_cpu_job *job)
{
    int now = atomic_fetch_add(&computing, 1) + 1;
    for (int most = atomic_load(&most_computing);
         now > most && !atomic_compare_exchange_weak(&most_computing, &most, now);)
        continue;
    threaded_run(job);
    atomic_fetch_sub(&computing, 1);
}

static const rungi_cpu_kernel counted_table = {
    .run = counted_run, .configure = threaded_configure, .is_threaded = true};

/* Returns the number of threads of this process. Threads that have just ended may still count. */
static int process_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* ---- Multiplying in a region ---------------------------------------------------------- */

static float a[SIZE * SIZE], b[SIZE * SIZE], c[THREADS][SIZE * SIZE], expected[SIZE * SIZE];

static int run_often(rung_device *device, rung_plan *plan, float *own)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, SIZE, SIZE, a),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, b),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, own));
    rung_queue *queue;
    if (rung_queue_create(device, &queue) != RUNG_OK)
        return RUNS;
    int failures = 0;
    for (int i = 0; i < RUNS; i++) {
        memset(own, 0xff, sizeof expected);
        failures += rung_plan_run(plan, queue, &problem, NULL) != RUNG_OK ||
                    memcmp(own, expected, sizeof expected) != 0;
    }
    rung_queue_destroy(queue);
    return failures;
}

/* Starts OpenMP's threads. Returns the number of threads of the process then. */
static int threads_with_team(int team)
{
    atomic_int members = 0;
#pragma omp parallel num_threads(team)
    atomic_fetch_add(&members, 1);
    assert_int_equal(atomic_load(&members), team);
    return process_threads();
}

/* Multiplies on each thread of a team and returns how many threads the library has created. */
static int multiply_in_team(int team, rung_parallel_function parallel_for)
{
    rung_context *context;
    rung_device *device;
    rung_plan *plan;
    threaded_t threaded;
    int failures = 0, before = threads_with_team(team);
    rung_context_options options = rung_context_options_default();
    atomic_store(&library_threads, 0);
    options.threads = THREADS;
    options.verbose = -1;
    options.parallel_for = parallel_for;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_true(threaded_make(context, &threaded));
    threaded.step.function = &counted_table;
    rung_plan_options plan_options = rung_plan_options_default();
    plan_options.kernel = &threaded.kernel;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, SIZE, SIZE, a),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, b),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, c[0]));
    assert_int_equal(rung_plan_create(device, &problem, &plan_options, &plan), RUNG_OK);
    assert_int_equal(rung_plan_describe(plan)->threads, THREADS);
    atomic_store(&most_computing, 0);
    int created = atomic_load(&library_threads); /* by the plan */
#pragma omp parallel num_threads(team) reduction(+ : failures)
    failures += run_often(device, plan, c[omp_get_thread_num()]);
    int after = process_threads();
    assert_int_equal(failures, 0);
    assert_int_equal(atomic_load(&library_threads), created);
    assert_in_range(after, 1, before + THREADS - 1); /* workers, or OpenMP's own for the parts of a team of one */
    rung_plan_destroy(plan);
    rung_device_close(device);
    rung_context_destroy(context);
    return created;
}

static const int teams[] = {1, 2, 4};

static void threads_of_the_library_do_not_multiply(void **state)
{
    int64_t processors = rungi_processors_count();
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(multiply_in_team(teams[i], NULL), THREADS - 1);
        assert_in_range(atomic_load(&most_computing), 1, processors > THREADS ? processors : THREADS);
    }
}

static void openmp_loop(void *user, int64_t parts, rung_work_function work, void *work_user)
{
    (void)user;
#pragma omp parallel for schedule(static, 1)
    for (int64_t part = 0; part < parts; part++)
        work(work_user, part);
}

/* With OpenMP's threads the library has none. An inner region has one thread, so each thread of the team computes alone. A
 * team of one thread is no active region: there the inner region has its own threads. */
static void openmp_threads_are_the_only_ones(void **state)
{
    (void)state;
    for (int i = 1; i < 3; i++) {
        assert_int_equal(multiply_in_team(teams[i], openmp_loop), 0);
        assert_in_range(atomic_load(&most_computing), 1, teams[i]);
    }
    assert_int_equal(multiply_in_team(1, openmp_loop), 0);
    assert_in_range(atomic_load(&most_computing), 1, THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_the_library_do_not_multiply),
        cmocka_unit_test(openmp_threads_are_the_only_ones),
    };
    uint64_t seed = 1;
    unit_clean_environment();
    omp_set_dynamic(0);
    omp_set_num_threads(THREADS);
    omp_set_max_active_levels(1);
    unit_fill(&seed, a, SIZE * SIZE);
    unit_fill(&seed, b, SIZE * SIZE);
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            for (int p = 0; p < SIZE; p++)
                expected[i * SIZE + j] += a[i * SIZE + p] * b[p * SIZE + j];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
