/* SPDX-License-Identifier: Apache-2.0 */
/* callers_pool.c - multiplications on the caller's thread pool (rung_context_options.parallel_for): the same bits as with
 * threads of the context for every order of the parts, no thread of the library, the floating-point environments of all
 * threads, nested and concurrent calls. */
#define _GNU_SOURCE /* pthread_timedjoin_np */
#include "support/cancelled_thread.h"
#include "support/counted_threads.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/context.h"
#include "cpu/threads/pool.h"

/* ---- Thread pools ----------------------------------------------------------------- */

enum { THREADS = 4 };

typedef struct callers_pool {
    atomic_int calls, most_parts;
    atomic_int changed_environments; /* parts that left another rounding mode than they found */
    atomic_int nested_calls;         /* calls on a thread that computes a part */
} callers_pool_t;

static _Thread_local bool is_in_part;

static void count_call(callers_pool_t *pool, int64_t parts)
{
    atomic_fetch_add(&pool->calls, 1);
    atomic_fetch_add(&pool->nested_calls, is_in_part);
    if (parts > atomic_load(&pool->most_parts))
        atomic_store(&pool->most_parts, (int)parts);
}

static void call_part(rung_work_function work, void *work_user, int64_t part)
{
    bool before = is_in_part;
    is_in_part = true;
    work(work_user, part);
    is_in_part = before;
}

static void in_order(void *user, int64_t parts, rung_work_function work, void *work_user)
{
    count_call(user, parts);
    for (int64_t part = 0; part < parts; part++)
        call_part(work, work_user, part);
}

static void in_reverse(void *user, int64_t parts, rung_work_function work, void *work_user)
{
    count_call(user, parts);
    for (int64_t part = parts; part-- > 0;)
        call_part(work, work_user, part);
}

/* An error of the program, which costs time and no results. */
static void without_any_part(void *user, int64_t parts, rung_work_function work, void *work_user)
{
    (void)work;
    (void)work_user;
    count_call(user, parts);
}

typedef struct thread_call {
    callers_pool_t *pool;
    rung_work_function work;
    void *work_user;
    int64_t part;
} thread_call_t;

/* A thread with a rounding mode of its own. */
static void *run_thread(void *user)
{
    thread_call_t *call = user;
    fesetround(FE_DOWNWARD);
    call_part(call->work, call->work_user, call->part);
    if (fegetround() != FE_DOWNWARD)
        atomic_fetch_add(&call->pool->changed_environments, 1);
    return NULL;
}

/* One thread per part. */
static void on_threads(void *user, int64_t parts, rung_work_function work, void *work_user)
{
    thread_call_t calls[THREADS];
    pthread_t threads[THREADS];
    count_call(user, parts);
    for (int64_t part = 0; part < parts && part < THREADS; part++) {
        calls[part] = (thread_call_t){user, work, work_user, part};
        if (__real_pthread_create(&threads[part], NULL, run_thread, &calls[part]) != 0)
            abort();
    }
    for (int64_t part = 0; part < parts && part < THREADS; part++)
        pthread_join(threads[part], NULL);
}

static const rung_parallel_function every_pool[] = {in_order, in_reverse, on_threads, without_any_part};
enum { POOLS = sizeof every_pool / sizeof *every_pool };

/* ---- Multiplications -------------------------------------------------------------- */

typedef struct shape {
    int64_t m, n, k, batch;
} shape_t;

static const shape_t shapes[] = {
    {200, 200, 200, 1}, {61, 700, 90, 1}, {700, 33, 128, 1}, {64, 64, 64, 12}, {5, 5, 5, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST = 700 * 200 };

static rung_context *context_with(rung_parallel_function parallel_for, callers_pool_t *pool)
{
    rung_context *context;
    rung_context_options options = rung_context_options_default();
    options.threads = THREADS;
    options.verbose = -1;
    options.parallel_for = parallel_for;
    options.parallel_for_user = pool;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    return context;
}

/* Fractions whose products round differently in every mode. */
static void fill(double *values, uint64_t seed)
{
    for (int64_t i = 0; i < MOST; i++)
        values[i] = (double)(unit_random(&seed, 2000001) - 1000000) / 999983;
}

static double a[MOST], b[MOST];

static rung_status multiply(rung_context *context, const shape_t *shape, double *c)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F64, shape->m, shape->k, a),
                                           rung_matrix_of(RUNG_F64, shape->k, shape->n, b),
                                           rung_matrix_of(RUNG_F64, shape->m, shape->n, c));
    problem.batch = shape->batch;
    problem.c.batch_stride = shape->m * shape->n;
    problem.a.batch_stride = problem.b.batch_stride = 1000;
    return rung_multiply(context, &problem, NULL);
}

/* Computes every shape with threads of the context and with a pool, and compares the bits. */
static void compare_pool(rung_parallel_function parallel_for, int rounding)
{
    static double expected[MOST], found[MOST];
    callers_pool_t pool = {0};
    rung_context *own = context_with(NULL, NULL), *other = context_with(parallel_for, &pool);
    for (int i = 0; i < SHAPES; i++) {
        size_t bytes = (size_t)(shapes[i].m * shapes[i].n * shapes[i].batch) * sizeof *found;
        memset(found, 0xff, sizeof found);
        fesetround(rounding);
        rung_status status = multiply(own, &shapes[i], expected);
        atomic_store(&library_threads, 0);
        rung_status other_status = multiply(other, &shapes[i], found);
        int after = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(status, RUNG_OK);
        assert_int_equal(other_status, RUNG_OK);
        assert_int_equal(after, rounding);
        assert_memory_equal(expected, found, bytes);
        assert_int_equal(atomic_load(&library_threads), 0);
    }
    assert_int_equal(atomic_load(&pool.calls), SHAPES - 1); /* the smallest shape uses one thread */
    assert_int_equal(atomic_load(&pool.most_parts), THREADS);
    assert_int_equal(atomic_load(&pool.changed_environments), 0);
    rung_context_destroy(own);
    rung_context_destroy(other);
}

static void the_same_bits_on_every_pool(void **state)
{
    (void)state;
    for (int i = 0; i < POOLS; i++)
        compare_pool(every_pool[i], FE_TONEAREST);
}

static void parts_use_the_callers_rounding(void **state)
{
    static const int modes[] = {FE_UPWARD, FE_TOWARDZERO};
    (void)state;
    for (int i = 0; i < POOLS; i++)
        for (int mode = 0; mode < 2; mode++)
            compare_pool(every_pool[i], modes[mode]);
}

/* The rounding mode does change these results; otherwise the test above compares nothing. */
static void rounding_shows(void **state)
{
    static double nearest[MOST], upward[MOST];
    rung_context *context = context_with(NULL, NULL);
    (void)state;
    assert_int_equal(multiply(context, &shapes[0], nearest), RUNG_OK);
    fesetround(FE_UPWARD);
    rung_status status = multiply(context, &shapes[0], upward);
    fesetround(FE_TONEAREST);
    assert_int_equal(status, RUNG_OK);
    assert_memory_not_equal(nearest, upward, 200 * 200 * sizeof *nearest);
    rung_context_destroy(context);
}

static void the_number_of_threads_limits_the_parts(void **state)
{
    static double c[MOST];
    callers_pool_t pool = {0};
    rung_context *context = context_with(in_order, &pool);
    rung_multiply_options options = rung_multiply_options_default();
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F64, 200, 200, a), rung_matrix_of(RUNG_F64, 200, 200, b),
                                           rung_matrix_of(RUNG_F64, 200, 200, c));
    (void)state;
    options.threads = 3;
    assert_int_equal(rung_multiply(context, &problem, &options), RUNG_OK);
    assert_int_equal(atomic_load(&pool.most_parts), 3);
    options.threads = 1;
    assert_int_equal(rung_multiply(context, &problem, &options), RUNG_OK);
    assert_int_equal(atomic_load(&pool.calls), 1);
    rung_context_destroy(context);
}

/* ---- Calls at the same time, and inside each other -------------------------------- */

enum { CALLERS = 8, RUNS = 10 };

typedef struct concurrent_caller {
    rung_context *context;
    const double *expected;
    double *c;
    int failures;
} concurrent_caller_t;

static void *run_often(void *user)
{
    concurrent_caller_t *caller = user;
    size_t bytes = 200 * 200 * sizeof *caller->c;
    for (int i = 0; i < RUNS; i++) {
        memset(caller->c, 0xff, bytes);
        caller->failures += multiply(caller->context, &shapes[0], caller->c) != RUNG_OK ||
                            memcmp(caller->c, caller->expected, bytes) != 0;
    }
    return NULL;
}

/* More threads at once than there is scratch memory for: no part waits, and nothing is left out. */
static void many_callers_share_a_pool(void **state)
{
    static double expected[MOST], c[CALLERS][200 * 200];
    callers_pool_t pool = {0};
    rung_context *context = context_with(on_threads, &pool);
    concurrent_caller_t callers[CALLERS];
    pthread_t threads[CALLERS];
    (void)state;
    assert_int_equal(multiply(context, &shapes[0], expected), RUNG_OK);
    atomic_store(&library_threads, 0);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (concurrent_caller_t){context, expected, c[i], 0};
        assert_int_equal(__real_pthread_create(&threads[i], NULL, run_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].failures, 0);
    }
    assert_int_equal(atomic_load(&library_threads), 0);
    rung_context_destroy(context);
}

/* A task of the program that multiplies on a thread of its pool. */
typedef struct multiply_task {
    rung_context *context;
    double c[THREADS][200 * 200];
    atomic_int failures;
} multiply_task_t;

static void multiply_in_task(void *user, int64_t part)
{
    multiply_task_t *task = user;
    int before = fegetround(); /* a task is a caller, whose own rounding mode counts */
    fesetround(FE_TONEAREST);
    if (multiply(task->context, &shapes[0], task->c[part]) != RUNG_OK)
        atomic_fetch_add(&task->failures, 1);
    fesetround(before);
}

static void tasks_of_the_pool_may_multiply(void **state)
{
    static double expected[MOST];
    static multiply_task_t task;
    (void)state;
    for (int i = 0; i < POOLS - 1; i++) { /* the last one runs no task */
        callers_pool_t pool = {0};
        task.context = context_with(every_pool[i], &pool);
        assert_int_equal(multiply(task.context, &shapes[0], expected), RUNG_OK);
        every_pool[i](&pool, THREADS, multiply_in_task, &task);
        assert_int_equal(atomic_load(&task.failures), 0);
        for (int part = 0; part < THREADS; part++)
            assert_memory_equal(task.c[part], expected, sizeof task.c[part]);
        rung_context_destroy(task.context);
    }
}

static void multiply_once(void *user)
{
    concurrent_caller_t *caller = user;
    caller->failures += multiply(caller->context, &shapes[0], caller->c) != RUNG_OK;
}

/* The pool waits for its threads with pthread_join, where a thread may be cancelled. */
static void cancellation_waits_for_the_pool(void **state)
{
    static double expected[MOST], c[MOST];
    callers_pool_t pool = {0};
    concurrent_caller_t caller = {context_with(on_threads, &pool), expected, c, 0};
    (void)state;
    assert_int_equal(multiply(caller.context, &shapes[0], expected), RUNG_OK);
    for (long after_ns = -1; after_ns < 300000; after_ns += 50000) {
        memset(c, 0xff, sizeof c);
        cancelled_thread_call("parallel_for", multiply_once, &caller, after_ns);
        assert_int_equal(caller.failures, 0);
        assert_memory_equal(c, expected, 200 * 200 * sizeof *c);
    }
    rung_context_destroy(caller.context);
}

typedef struct nested_job {
    rungi_pool *pool;
    atomic_int inner_parts;
} nested_job_t;

static void count_inner_part(void *user, int64_t part, char *scratch)
{
    (void)part;
    (void)scratch;
    atomic_fetch_add(&((nested_job_t *)user)->inner_parts, 1);
}

static void run_inner_job(void *user, int64_t part, char *scratch)
{
    nested_job_t *nested = user;
    (void)part;
    (void)scratch;
    rungi_pool_run(nested->pool, THREADS, 0, 10, count_inner_part, nested);
}

/* A pool that waits for its own threads would wait forever if a part called it. */
static void parts_do_not_call_the_pool(void **state)
{
    (void)state;
    for (int i = 0; i < POOLS; i++) {
        callers_pool_t pool = {0};
        rung_context *context = context_with(every_pool[i], &pool);
        nested_job_t nested = {0};
        assert_int_equal(rungi_pool_create(context, &nested.pool), RUNG_OK);
        assert_int_equal(rungi_pool_reserve(nested.pool, THREADS, 4096), RUNG_OK);
        if (every_pool[i] != without_any_part) {
            rungi_pool_run(nested.pool, THREADS, 4096, 20, run_inner_job, &nested);
            assert_int_equal(atomic_load(&nested.inner_parts), 20 * 10);
            assert_int_equal(atomic_load(&pool.calls), 1);
        }
        assert_int_equal(atomic_load(&pool.nested_calls), 0);
        rungi_pool_destroy(nested.pool);
        rung_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits_on_every_pool),
        cmocka_unit_test(parts_use_the_callers_rounding),
        cmocka_unit_test(rounding_shows),
        cmocka_unit_test(the_number_of_threads_limits_the_parts),
        cmocka_unit_test(many_callers_share_a_pool),
        cmocka_unit_test(tasks_of_the_pool_may_multiply),
        cmocka_unit_test(cancellation_waits_for_the_pool),
        cmocka_unit_test(parts_do_not_call_the_pool),
    };
    unit_clean_environment();
    fill(a, 1);
    fill(b, 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
