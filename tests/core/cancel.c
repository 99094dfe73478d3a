/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c - a thread that is cancelled never ends inside a call, on any device: test_cancel [DEVICE].
 *
 * Every call is the first of its kind in a new context, so that it does all that is done once. The
 * context's allocator and log are cancellation points, and count what is not given back. */
#define _GNU_SOURCE /* pthread_timedjoin_np */
#include "support/cancelled_thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef CANCEL_DEVICE
#define CANCEL_DEVICE "cpu"
#endif

enum { N = 72, BYTES = N * N * (int)sizeof(float) };

static const char *device_name = CANCEL_DEVICE;

/* ---- A context whose functions are cancellation points ------------------------------------------ */

static atomic_llong live_allocations; /* allocations */

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    (void)user;
    pthread_testcancel();
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0)
        return NULL;
    atomic_fetch_add(&live_allocations, 1);
    return memory;
}

static void release(void *user, void *memory)
{
    (void)user;
    pthread_testcancel();
    atomic_fetch_sub(&live_allocations, 1);
    free(memory);
}

static void take_line(void *user, const char *line)
{
    (void)user;
    (void)line;
    pthread_testcancel();
}

/* ---- A life, call by call -------------------------------------------------------------------------- */

typedef struct cancel_session {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_event *event;
    rung_kernel *kernel;
    rung_buffer *memory[4]; /* the last is the packed B */
    rung_plan *plan;
    rung_problem problem;
    bool packs;
    int verbose;
    float a[N * N], b[N * N], c[N * N];
} cancel_session_t;

static void assert_ok(rung_status status)
{
    if (status != RUNG_OK)
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
}

static void create_context(void *user)
{
    cancel_session_t *life = user;
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .device = device_name,
                                    .verbose = life->verbose,
                                    .log = take_line,
                                    .allocate = allocate,
                                    .release = release,
                                    .threads = 2};
    assert_ok(rung_context_create(&options, &life->context));
}

static void list_devices(void *user)
{
    cancel_session_t *life = user;
    rung_device_list *devices;
    rung_dependency_list *dependencies;
    assert_ok(rung_device_list_create(life->context, &devices));
    rung_device_list_destroy(devices);
    assert_ok(rung_dependency_list_create(life->context, &dependencies));
    rung_dependency_list_destroy(dependencies);
}

static void open_device(void *user)
{
    cancel_session_t *life = user;
    assert_ok(rung_device_open(life->context, device_name, &life->device));
}

static void create_objects(void *user)
{
    cancel_session_t *life = user;
    assert_ok(rung_queue_create(life->device, &life->queue));
    assert_ok(rung_event_create(life->device, &life->event));
    for (int i = 0; i < 3; i++)
        assert_ok(rung_buffer_create(life->device, BYTES, &life->memory[i]));
}

static void find_kernel(void *user)
{
    cancel_session_t *life = user;
    assert_ok(rung_kernel_find(life->context, rung_device_describe(life->device)->backend, "07", &life->kernel));
}

static void write_buffers(void *user)
{
    cancel_session_t *life = user;
    assert_ok(rung_buffer_write(life->queue, life->memory[0], 0, BYTES, life->a, NULL));
    assert_ok(rung_buffer_write(life->queue, life->memory[1], 0, BYTES, life->b, NULL));
}

static void create_plan(void *user)
{
    cancel_session_t *life = user;
    life->problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, N, N, life->memory[0], 0),
                                    rung_matrix_in_buffer(RUNG_F32, N, N, life->memory[1], 0),
                                    rung_matrix_in_buffer(RUNG_F32, N, N, life->memory[2], 0));
    rung_plan_options options = {
        .size = sizeof(rung_plan_options), .packed_b = life->packs, .kernel = life->packs ? NULL : life->kernel};
    assert_ok(rung_plan_create(life->device, &life->problem, &options, &life->plan));
    if (life->packs)
        assert_ok(rung_buffer_create(life->device, rung_plan_describe(life->plan)->packed_b_bytes, &life->memory[3]));
}

static void pack(void *user)
{
    cancel_session_t *life = user;
    if (life->packs)
        assert_ok(rung_plan_pack_b(life->plan, life->queue, &life->problem.b, life->memory[3], NULL));
}

static void run_plan(void *user)
{
    cancel_session_t *life = user;
    rung_run_options options = {.size = sizeof(rung_run_options), .signal = life->event, .packed_b = life->memory[3]};
    assert_ok(rung_plan_run(life->plan, life->queue, &life->problem, &options));
}

static void wait_for_event(void *user)
{
    cancel_session_t *life = user;
    int64_t nanoseconds;
    assert_ok(rung_event_wait(life->event));
    assert_ok(rung_event_time(life->event, &nanoseconds));
    assert_ok(rung_queue_finish(life->queue));
}

static void read_buffer(void *user)
{
    cancel_session_t *life = user;
    assert_ok(rung_buffer_read(life->queue, life->memory[2], 0, BYTES, life->c, NULL));
    assert_ok(rung_queue_finish(life->queue));
}

static void multiply(void *user)
{
    cancel_session_t *life = user;
    assert_ok(rung_gemm(life->context, 1, rung_matrix_of(RUNG_F32, N, N, life->a),
                        rung_matrix_of(RUNG_F32, N, N, life->b), 0, rung_matrix_of(RUNG_F32, N, N, life->c)));
}

static void destroy_objects(void *user)
{
    cancel_session_t *life = user;
    rung_plan_destroy(life->plan);
    for (int i = 0; i < 4; i++)
        rung_buffer_destroy(life->memory[i]);
    rung_event_destroy(life->event);
    rung_queue_destroy(life->queue);
    rung_device_close(life->device);
}

static void destroy_context(void *user)
{
    rung_context_destroy(((cancel_session_t *)user)->context);
}

static const struct {
    const char *name;
    cancelled_call_t *call;
} steps[] = {
#define STEP(name)  \
    {               \
#name, name \
    }
    STEP(create_context), STEP(list_devices), STEP(open_device), STEP(create_objects),  STEP(find_kernel),
    STEP(write_buffers),  STEP(create_plan),  STEP(pack),        STEP(run_plan),        STEP(wait_for_event),
    STEP(read_buffer),    STEP(multiply),     STEP(multiply),    STEP(destroy_objects), STEP(destroy_context),
#undef STEP
};
enum { STEPS = sizeof steps / sizeof *steps };

static void begin(cancel_session_t *life, int verbose, bool packs)
{
    memset(life, 0, sizeof *life);
    life->verbose = verbose;
    life->packs = packs;
    for (int i = 0; i < N * N; i++) {
        life->a[i] = (float)(i % 5 - 2);
        life->b[i] = (float)(i % 3 - 1);
    }
}

static void expect_product(cancel_session_t *life)
{
    for (int i = 0; i < N; i += 7)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int p = 0; p < N; p++)
                sum += life->a[i * N + p] * life->b[p * N + j];
            assert_true(life->c[i * N + j] == sum);
        }
    memset(life->c, 0x7f, sizeof life->c);
}

/* Nothing is left, but for what a driver keeps for itself. */
static void expect_no_leaks(const char *after)
{
    if (atomic_load(&live_allocations) != 0)
        fail_msg("%lld allocations were not released after %s", (long long)atomic_load(&live_allocations), after);
}

/* ---- The tests -------------------------------------------------------------------------------------- */

/* One context; each of its calls comes from a thread that was cancelled before. */
static void run_all_steps(int verbose, bool packs)
{
    static cancel_session_t life;
    begin(&life, verbose, packs);
    for (int i = 0; i < STEPS; i++) {
        cancelled_thread_call(steps[i].name, steps[i].call, &life, -1);
        if (steps[i].call == read_buffer || steps[i].call == multiply)
            expect_product(&life);
    }
    expect_no_leaks("a life of cancelled calls");
}

static void test_each_call(void **state)
{
    (void)state;
    run_all_steps(-1, false);
    run_all_steps(2, false);
    if (strcmp(device_name, "cpu") == 0)
        run_all_steps(-1, true);
}

/* The first multiply of a context, which does everything else too; and the context still works. */
static void first_multiply(long after_ns)
{
    static cancel_session_t life;
    begin(&life, -1, false);
    create_context(&life);
    cancelled_thread_call("the first multiply", multiply, &life, after_ns);
    expect_product(&life);
    cancelled_thread_call("the second multiply", multiply, &life, after_ns);
    expect_product(&life);
    multiply(&life);
    expect_product(&life);
    destroy_context(&life);
    expect_no_leaks("two cancelled multiplies");
}

static void test_first_multiply(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        first_multiply(-1);
}

static void test_any_moment(void **state)
{
    uint64_t seed = 17;
    (void)state;
    for (int i = 0; i < 30; i++)
        first_multiply((long)unit_random(&seed, 1000 * 1000));
}

static bool has_device(void)
{
    rung_device *device;
    bool is_here = rung_device_open(NULL, device_name, &device) == RUNG_OK;
    if (!is_here)
        printf("skipped: %s\n", rung_error_text());
    else
        rung_device_close(device);
    return is_here;
}

/* A driver is loaded once per process: whether it is here is found out in another one. */
static bool is_skipped(const char *self)
{
    char command[512];
    snprintf(command, sizeof command, "'%s' %s look", self, device_name);
    return system(command) != 0;
}

int main(int count, char **arguments)
{
    unit_clean_environment();
    if (count > 1)
        device_name = arguments[1];
    if (count > 2)
        return has_device() ? 0 : 1;
    if (is_skipped(arguments[0]))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call),
        cmocka_unit_test(test_first_multiply),
        cmocka_unit_test(test_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
