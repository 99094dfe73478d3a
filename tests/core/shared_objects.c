/* SPDX-License-Identifier: Apache-2.0 */
/* shared_objects.c - contexts, devices, kernels and plans are shared between threads by
 * promise. Eight threads do so at once, each with data and sizes of its own; numbers
 * are small and whole, so that a result is right or wrong. Meant for a race checker
 * as much as for itself. */
#include "support/unit.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 8, REPEATS = 50, SIZE_MAX_HERE = 40 };

/* What a thread is given and what it finds. cmocka's asserts jump, and a thread has
 * nowhere to jump to, so failures are counted. */
typedef struct shared_worker {
    rung_context *context;
    rung_device *device;
    rung_plan *plan;
    const char *name;
    uint64_t seed;
    int failures;
    char told[256];
} shared_worker_t;

static void count_result(shared_worker_t *worker, const char *what)
{
    if (worker->failures++ == 0)
        snprintf(worker->told, sizeof worker->told, "%s: %.200s", what, rung_error_text());
}

static void run_threads(shared_worker_t *workers, void *(*function)(void *))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, function, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].failures > 0)
            fail_msg("thread %d failed %d times, first with %s", i, workers[i].failures, workers[i].told);
}

static bool has_device(const char *name)
{
    rung_device *device;
    rung_status status = rung_device_open(NULL, name, &device);
    rung_device_close(device);
    return status == RUNG_OK;
}

/* ---- One context ----------------------------------------------------------------- */

typedef struct buffers {
    float a[SIZE_MAX_HERE * SIZE_MAX_HERE], b[SIZE_MAX_HERE * SIZE_MAX_HERE];
    float c[SIZE_MAX_HERE * SIZE_MAX_HERE];
} buffers_t;

static void multiply(shared_worker_t *worker, buffers_t *buffers, int64_t m, int64_t n, int64_t k, bool turned)
{
    unit_fill(&worker->seed, buffers->a, m * k);
    unit_fill(&worker->seed, buffers->b, k * n);
    rung_matrix a = rung_matrix_of(RUNG_F32, m, k, buffers->a);
    rung_matrix b = rung_matrix_of(RUNG_F32, k, n, buffers->b);
    rung_matrix c = rung_matrix_of(RUNG_F32, m, n, buffers->c);
    if (turned)
        a = rung_matrix_transpose(rung_matrix_of(RUNG_F32, k, m, buffers->a));
    if (rung_gemm(worker->context, 1.0, a, b, 0.0, c) != RUNG_OK)
        count_result(worker, "rung_gemm");
    else if (unit_first_wrong(&a, &b, &c) != -1)
        count_result(worker, "a wrong result");
}

static void *multiply_often(void *opaque)
{
    shared_worker_t *worker = opaque;
    buffers_t *buffers = calloc(1, sizeof *buffers);
    for (int i = 0; buffers && i < REPEATS; i++) {
        int64_t m = 1 + unit_random(&worker->seed, SIZE_MAX_HERE);
        int64_t n = 1 + unit_random(&worker->seed, SIZE_MAX_HERE);
        int64_t k = unit_random(&worker->seed, SIZE_MAX_HERE);
        multiply(worker, buffers, m, n, k, i % 2); /* half of them turned, which stages them */
    }
    free(buffers);
    return NULL;
}

/* The largest of each kind first, by one thread: PoCL before 7.0 loads a kernel again for a
 * grid wider than any before, and while it does so gives up other threads' holds on the
 * copy they run ("found->ref_count > 0"). docs/guides/types-batches-epilogues.md tells users. */
static void widest_first(shared_worker_t *worker)
{
    buffers_t *buffers = calloc(1, sizeof *buffers);
    for (int i = 0; buffers && i < 4; i++)
        multiply(worker, buffers, SIZE_MAX_HERE - i / 2, SIZE_MAX_HERE - i / 2, SIZE_MAX_HERE, i % 2);
    free(buffers);
    assert_int_equal(worker->failures, 0);
}

static void use_context_from_threads(const char *device)
{
    rung_context *context;
    shared_worker_t workers[THREADS] = {0};
    rung_context_options options = {.size = sizeof(rung_context_options), .device = device, .verbose = -1};
    if (!has_device(device))
        skip();
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i].context = context;
        workers[i].seed = (uint64_t)i + 100;
    }
    widest_first(&workers[0]);
    run_threads(workers, multiply_often);
    rung_context_destroy(context);
}

static void a_context_on_the_cpu(void **state)
{
    (void)state;
    use_context_from_threads("cpu");
}

static void a_context_on_opencl(void **state)
{
    (void)state;
    use_context_from_threads("opencl");
}

/* The default context is made by whoever comes first. */
static void the_default_context(void **state)
{
    shared_worker_t workers[THREADS] = {0};
    (void)state;
    for (int i = 0; i < THREADS; i++)
        workers[i].seed = (uint64_t)i + 200;
    run_threads(workers, multiply_often);
}

/* ---- One device and one plan ----------------------------------------------------- */

enum { M = 9, N = 13, K = 11 };

typedef struct thread_objects {
    rung_queue *queue;
    rung_event *event;
    rung_buffer *a, *b, *c;
} thread_objects_t;

static rung_status make_own(rung_device *device, thread_objects_t *own)
{
    rung_status status = rung_queue_create(device, &own->queue);
    if (status == RUNG_OK)
        status = rung_event_create(device, &own->event);
    if (status == RUNG_OK)
        status = rung_buffer_create(device, M * K * 4, &own->a);
    if (status == RUNG_OK)
        status = rung_buffer_create(device, K * N * 4, &own->b);
    if (status == RUNG_OK)
        status = rung_buffer_create(device, M * N * 4, &own->c);
    return status;
}

static void destroy_own(thread_objects_t *own)
{
    rung_buffer_destroy(own->a);
    rung_buffer_destroy(own->b);
    rung_buffer_destroy(own->c);
    rung_event_destroy(own->event);
    rung_queue_destroy(own->queue);
}

static rung_status run_once(shared_worker_t *worker, thread_objects_t *own, buffers_t *buffers)
{
    rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, M, K, own->a, 0),
                                           rung_matrix_in_buffer(RUNG_F32, K, N, own->b, 0),
                                           rung_matrix_in_buffer(RUNG_F32, M, N, own->c, 0));
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = own->event};
    rung_status status = rung_buffer_write(own->queue, own->a, 0, M * K * 4, buffers->a, NULL);
    if (status == RUNG_OK)
        status = rung_buffer_write(own->queue, own->b, 0, K * N * 4, buffers->b, NULL);
    if (status == RUNG_OK)
        status = rung_plan_run(worker->plan, own->queue, &problem, &run);
    if (status == RUNG_OK)
        status = rung_event_wait(own->event);
    if (status == RUNG_OK)
        status = rung_buffer_read(own->queue, own->c, 0, M * N * 4, buffers->c, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(own->queue);
    return status;
}

static void *run_often(void *opaque)
{
    shared_worker_t *worker = opaque;
    thread_objects_t own = {0};
    buffers_t *buffers = calloc(1, sizeof *buffers);
    if (!buffers || make_own(worker->device, &own) != RUNG_OK)
        count_result(worker, "making queue and buffers");
    for (int i = 0; worker->failures == 0 && i < REPEATS; i++) {
        unit_fill(&worker->seed, buffers->a, M * K);
        unit_fill(&worker->seed, buffers->b, K * N);
        rung_matrix a = rung_matrix_of(RUNG_F32, M, K, buffers->a);
        rung_matrix b = rung_matrix_of(RUNG_F32, K, N, buffers->b);
        rung_matrix c = rung_matrix_of(RUNG_F32, M, N, buffers->c);
        if (run_once(worker, &own, buffers) != RUNG_OK)
            count_result(worker, "running the plan");
        else if (unit_first_wrong(&a, &b, &c) != -1)
            count_result(worker, "a wrong result");
    }
    destroy_own(&own);
    free(buffers);
    return NULL;
}

static void use_plan_from_threads(const char *name)
{
    rung_context *context;
    rung_device *device;
    rung_plan *plan;
    shared_worker_t workers[THREADS] = {0};
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1};
    if (!has_device(name))
        skip();
    rung_problem form = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, NULL), rung_matrix_of(RUNG_F32, K, N, NULL),
                                        rung_matrix_of(RUNG_F32, M, N, NULL));
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    assert_int_equal(rung_device_open(context, name, &device), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &form, NULL, &plan), RUNG_OK);
    for (int i = 0; i < THREADS; i++)
        workers[i] = (shared_worker_t){.context = context, .device = device, .plan = plan, .seed = (uint64_t)i + 300};
    run_threads(workers, run_often);
    rung_plan_destroy(plan);
    rung_device_close(device);
    rung_context_destroy(context);
}

static void a_plan_on_the_cpu(void **state)
{
    (void)state;
    use_plan_from_threads("cpu");
}

static void a_plan_on_opencl(void **state)
{
    (void)state;
    use_plan_from_threads("opencl");
}

/* ---- Everything made by everyone ------------------------------------------------- */

/* Devices opened, kernels found, plans made and all of it destroyed, at once. */
static void *create_plans_repeatedly(void *opaque)
{
    shared_worker_t *worker = opaque;
    rung_problem form = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, NULL), rung_matrix_of(RUNG_F32, K, N, NULL),
                                        rung_matrix_of(RUNG_F32, M, N, NULL));
    for (int i = 0; i < 5; i++) {
        rung_device *device = NULL;
        rung_kernel *kernel = NULL;
        rung_plan *plan = NULL;
        rung_device_list *list = NULL;
        rung_status status = rung_device_open(worker->context, worker->name, &device);
        if (status == RUNG_OK)
            status = rung_kernel_find(worker->context, worker->name, "1", &kernel);
        rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
        if (status == RUNG_OK)
            status = rung_plan_create(device, &form, &options, &plan);
        if (status == RUNG_OK)
            status = rung_device_list_create(worker->context, &list);
        if (status != RUNG_OK)
            count_result(worker, "making a plan");
        rung_device_list_destroy(list);
        rung_device_close(device);
        rung_plan_destroy(plan);
    }
    return NULL;
}

static void create_objects_from_threads(const char *name)
{
    rung_context *context;
    shared_worker_t workers[THREADS] = {0};
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1};
    if (!has_device(name))
        skip();
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    for (int i = 0; i < THREADS; i++)
        workers[i] = (shared_worker_t){.context = context, .name = name};
    run_threads(workers, create_plans_repeatedly);
    rung_context_destroy(context);
}

static void creating_objects_on_the_cpu(void **state)
{
    (void)state;
    create_objects_from_threads("cpu");
}

static void creating_objects_on_opencl(void **state)
{
    (void)state;
    create_objects_from_threads("opencl");
}

#ifdef RUNG_WITH_OPENCL
/* One kernel asked by all, and to each thread its own last sentence. */
static void *evaluate_often(void *opaque)
{
    shared_worker_t *worker = opaque;
    for (int i = 0; i < REPEATS; i++) {
        rung_kernel *kernel;
        int64_t value = 0;
        if (rung_kernel_find(worker->context, "opencl", "1", &kernel) != RUNG_OK ||
            rung_kernel_evaluate(kernel, NULL, RUNG_F32, "BM * BN", &value) != RUNG_OK || value < 1)
            count_result(worker, "evaluating");
        if (rung_kernel_check(kernel, "NO_SUCH=1") != RUNG_STATUS_NOT_FOUND || !strstr(rung_error_text(), "NO_SUCH"))
            count_result(worker, "the thread's own error");
    }
    return NULL;
}

static void kernels_are_shared(void **state)
{
    rung_context *context;
    shared_worker_t workers[THREADS] = {0};
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1};
    (void)state;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    for (int i = 0; i < THREADS; i++)
        workers[i].context = context;
    run_threads(workers, evaluate_often);
    rung_context_destroy(context);
}
#endif

/* The library has a list of all contexts, for forks. A thread sanitizer reports a missing lock; else an entry gets lost. */
static void *create_contexts(void *opaque)
{
    enum { CONTEXTS = 2000 };
    shared_worker_t *worker = opaque;
    for (int i = 0; i < CONTEXTS; i++) {
        rung_context *first = NULL, *second = NULL;
        if (rung_context_create(NULL, &first) != RUNG_OK || rung_context_create(NULL, &second) != RUNG_OK)
            count_result(worker, "rung_context_create");
        rung_context_destroy(first);
        rung_context_destroy(second);
    }
    return NULL;
}

static void creating_contexts(void **state)
{
    shared_worker_t workers[THREADS] = {0};
    (void)state;
    run_threads(workers, create_contexts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_context),        cmocka_unit_test(a_context_on_the_cpu),
        cmocka_unit_test(a_context_on_opencl),        cmocka_unit_test(a_plan_on_the_cpu),
        cmocka_unit_test(a_plan_on_opencl),           cmocka_unit_test(creating_objects_on_the_cpu),
        cmocka_unit_test(creating_objects_on_opencl), cmocka_unit_test(creating_contexts),
#ifdef RUNG_WITH_OPENCL
        cmocka_unit_test(kernels_are_shared),
#endif
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
