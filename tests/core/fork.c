/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - a process forks while its other threads multiply, make plans, and make and unmake
 * contexts. Each child must multiply at once and be right, with threads of its own, and end; the
 * parent must go on as if nothing had been. A child that hangs is killed by its alarm.
 *
 *   test_forks [FORKS]      50 unless it is told, 20 with a sanitizer */
#define _GNU_SOURCE /* pthread_setname_np */
#include "support/threaded_kernel.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The sanitizers do not fork as well as the library. In a child of the address sanitizer's, memory
 * cannot be had if another thread was just getting some: threads then only run what is made, and a fork
 * waits until they all have begun, since the sanitizer gets memory for a thread that begins. In one of
 * the thread sanitizer's no threads can be made: the child then works alone. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif
#ifndef HAS_TSAN
#define HAS_TSAN 0
#endif

enum { SIZE = 90, SECONDS_MAX = 60 };

static int forks_wanted = HAS_ASAN || HAS_TSAN ? 20 : 50;

/* What all threads, and all children, multiply with: made before any of them. */
static float a_data[SIZE * SIZE], b_data[SIZE * SIZE], expected[SIZE * SIZE];
static rung_context *context; /* with three threads; the default one is used too */
static rung_device *device;
static rung_plan *plan;
static threaded_t kernel;

static rung_matrix view(const float *data)
{
    return rung_matrix_of(RUNG_F32, SIZE, SIZE, data);
}

static bool is_right(const float *c)
{
    return memcmp(c, expected, sizeof expected) == 0;
}

static bool gemm_is_right(rung_context *where)
{
    float c[SIZE * SIZE] = {0};
    return rung_gemm(where, 1.0, view(a_data), view(b_data), 0.0, view(c)) == RUNG_OK && is_right(c);
}

static bool run_on(rung_queue *queue, rung_plan *what)
{
    float c[SIZE * SIZE] = {0};
    rung_problem problem = rung_problem_of(view(a_data), view(b_data), view(c));
    return rung_plan_run(what, queue, &problem, NULL) == RUNG_OK && is_right(c);
}

static bool run_is_right(rung_device *where, rung_plan *what)
{
    rung_queue *queue;
    bool right = rung_queue_create(where, &queue) == RUNG_OK && run_on(queue, what);
    rung_queue_destroy(queue);
    return right;
}

static rung_status make_plan(rung_context *where, int64_t threads_wanted, threaded_t *own, rung_device **made_device,
                             rung_plan **made_plan)
{
    rung_problem form = rung_problem_of(view(NULL), view(NULL), view(NULL));
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = &own->kernel, .threads = threads_wanted};
    *made_plan = NULL;
    rung_status status = rung_device_open(where, "cpu", made_device);
    if (status == RUNG_OK && !threaded_make(where, own))
        status = RUNG_STATUS_NOT_FOUND;
    return status == RUNG_OK ? rung_plan_create(*made_device, &form, &options, made_plan) : status;
}

/* A context of one's own from beginning to end, on the CPU alone: the loader does not outlive a fork that
 * comes while it loads a library, such as OpenCL's. */
static bool new_context_is_right(void)
{
    rung_context *own;
    rung_device *own_device;
    rung_plan *own_plan;
    threaded_t own_kernel;
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1, .threads = 3};
    if (rung_context_create(&options, &own) != RUNG_OK ||
        make_plan(own, 3, &own_kernel, &own_device, &own_plan) != RUNG_OK)
        return false;
    bool right = run_is_right(own_device, own_plan) && gemm_is_right(own);
    rung_plan_destroy(own_plan);
    rung_device_close(own_device);
    rung_context_destroy(own);
    return right;
}

/* ---- Forking ---------------------------------------------------------------------------------- */

/* A thread that has begun has a name of its own: the library's take one, and so do the test's. */
static void set_thread_name(void)
{
    pthread_setname_np(pthread_self(), "busy");
}

static bool has_begun(const char *task)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", task);
    FILE *file = fopen(path, "r");
    if (!file)
        return true; /* it has ended */
    bool read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return !read || strcmp(name, "busy\n") == 0 || strcmp(name, "rung\n") == 0;
}

static bool all_have_begun(void)
{
    bool all = true;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));)
        all = all && (task->d_name[0] == '.' || atoi(task->d_name) == getpid() || has_begun(task->d_name));
    if (tasks)
        closedir(tasks);
    return all;
}

static pid_t fork_now(void)
{
    while (HAS_ASAN && !all_have_begun())
        sched_yield();
    fflush(stdout);
    return fork();
}

/* ---- The parent's threads --------------------------------------------------------------- */

static atomic_bool is_over;
static atomic_long done, wrong;

static void count_result(bool right)
{
    atomic_fetch_add(right ? &done : &wrong, 1);
}

static void *call_often(void *user)
{
    (void)user;
    set_thread_name();
    while (!atomic_load(&is_over))
        count_result(gemm_is_right(NULL));
    return NULL;
}

/* On a queue that is made before: gets no memory. */
static void *run_often(void *user)
{
    set_thread_name();
    while (!atomic_load(&is_over))
        count_result(run_on(user, plan));
    return NULL;
}

/* Has a lock half of the time. */
static void *lock_often(void *user)
{
    int index = rungi_backend_index("cpu");
    void *state;
    (void)user;
    set_thread_name();
    while (!atomic_load(&is_over))
        atomic_fetch_add(&wrong, rungi_context_load_backend_at(context, index, &state) != RUNG_OK);
    return NULL;
}

static void *create_and_destroy_repeatedly(void *user)
{
    (void)user;
    set_thread_name();
    while (!atomic_load(&is_over))
        count_result(new_context_is_right());
    return NULL;
}

/* ---- A child ------------------------------------------------------------------------------ */

/* Whether threads of its own come to help; the alarm has an end to it. */
static bool pool_workers_start(void)
{
    bool right = true;
    threaded_begin_round();
    while (right && atomic_load(&threaded_thread_count) < 2)
        right = run_is_right(device, plan);
    return right;
}

static int steps_alone(void)
{
    threaded_t own;
    rung_plan *alone;
    rung_device *again;
    return make_plan(context, 1, &own, &again, &alone) == RUNG_OK && run_is_right(again, alone) ? 0 : 9;
}

/* 0, or which step failed. */
static int child_steps(int number)
{
    if (HAS_TSAN)
        return steps_alone();
    if (!gemm_is_right(NULL))
        return 1;
    if (!run_is_right(device, plan)) /* a plan of the parent's */
        return 2;
    if (!pool_workers_start())
        return 3;
    if (!run_is_right(device, plan) || !gemm_is_right(context))
        return 4;
    if (!new_context_is_right())
        return 5;
    if (number % 5 == 0) { /* a child may have children */
        int status;
        pid_t grandchild = fork_now();
        if (grandchild == 0)
            _exit(run_is_right(device, plan) && gemm_is_right(NULL) && new_context_is_right() ? 0 : 1);
        if (waitpid(grandchild, &status, 0) != grandchild || status != 0)
            return 6;
        if (!run_is_right(device, plan))
            return 7;
    }
    rung_plan_destroy(plan);
    rung_device_close(device);
    rung_context_destroy(context);
    return gemm_is_right(NULL) ? 0 : 8;
}

/* Some only end, as a child does that is to exec: through destructors too, where no sanitizer
 * looks for what the parent's other threads have left. */
static void run_forked_child(int number)
{
    alarm(SECONDS_MAX);
    if (number % 7 == 3 && !HAS_ASAN && !HAS_TSAN)
        exit(0);
    _exit(number % 7 == 3 ? 0 : child_steps(number));
}

/* ---- The test ------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void sleep_random(uint64_t *seed)
{
    struct timespec time = {0, (long)unit_random(seed, 400000)};
    nanosleep(&time, NULL);
}

static void setup(void)
{
    uint64_t seed = 5;
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1, .threads = 3};
    unit_fill(&seed, a_data, SIZE * SIZE);
    unit_fill(&seed, b_data, SIZE * SIZE);
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            for (int p = 0; p < SIZE; p++)
                expected[i * SIZE + j] += a_data[i * SIZE + p] * b_data[p * SIZE + j];
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    assert_int_equal(make_plan(context, 3, &kernel, &device, &plan), RUNG_OK);
    assert_int_equal(rung_plan_describe(plan)->threads, 3);
}

static void fork_at_any_moment(void **state)
{
    static void *(*const functions[])(void *) = {run_often, run_often, lock_often, call_often,
                                                 create_and_destroy_repeatedly};
    enum { THREADS = HAS_ASAN ? 3 : 5 };
    pthread_t threads[THREADS];
    rung_queue *queues[THREADS];
    int hung = 0, failed = 0, first = 0;
    uint64_t seed = 11;
    (void)state;
    setup();
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(rung_queue_create(device, &queues[i]), RUNG_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, functions[i], queues[i]), 0);
    }
    double start = seconds();
    for (int i = 0; i < forks_wanted; i++) {
        int status = -1;
        sleep_random(&seed);
        pid_t child = fork_now();
        assert_true(child >= 0);
        if (child == 0)
            run_forked_child(i);
        assert_int_equal(waitpid(child, &status, 0), child);
        hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        failed += status != 0;
        first = first || status == 0 ? first : status;
    }
    double took = seconds() - start;
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    print_message("forks:    %d, %d threads at work: a plan on three threads (twice), a lock%s\n", forks_wanted,
                  THREADS, THREADS > 3 ? ", rung_gemm, contexts from beginning to end" : "");
    print_message("children: %d right, %d not, %d of these hung (%d s)\n", forks_wanted - failed, failed, hung,
                  SECONDS_MAX);
    print_message("parent:   %ld multiplies right, %ld not\n", atomic_load(&done), atomic_load(&wrong));
    print_message("seconds:  %.1f\n", took);
    if (failed > 0)
        fail_msg("of %d children %d failed, %d of them by hanging; the first: status %#x", forks_wanted, failed, hung,
                 (unsigned)first);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_true(atomic_load(&done) > 0);
    for (int i = 0; i < THREADS; i++)
        rung_queue_destroy(queues[i]);
    rung_plan_destroy(plan);
    rung_device_close(device);
    rung_context_destroy(context);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fork_at_any_moment)};
    forks_wanted = count > 1 ? atoi(words[1]) : forks_wanted;
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
