/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - NVIDIA's driver does not outlive a fork. In the child every call on the parent's
 * device gives a status, its objects can be destroyed, and the parent goes on. */
#include "cuda_unit.h"

#include <sys/wait.h>
#include <unistd.h>

/* What the parent has when it forks. */
static struct {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_buffer *buffer;
    rung_event *event;
    rung_plan *plan;
    rung_problem problem;
} parent;

static float data[3][16];

static rung_status multiply(rung_context *context)
{
    return rung_gemm(context, 1.0, rung_matrix_of(RUNG_F32, 4, 4, data[0]), rung_matrix_of(RUNG_F32, 4, 4, data[1]),
                     0.0, rung_matrix_of(RUNG_F32, 4, 4, data[2]));
}

static int begin(void **state)
{
    uint64_t seed = 3;
    (void)state;
    unit_fill(&seed, data[0], 32);
    parent.context = fresh_context("cuda", -1);
    assert_ok(multiply(parent.context));
    assert_ok(rung_device_open(parent.context, "cuda", &parent.device));
    assert_ok(rung_queue_create(parent.device, &parent.queue));
    assert_ok(rung_buffer_create(parent.device, 512, &parent.buffer));
    assert_ok(rung_event_create(parent.device, &parent.event));
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = parent.event};
    assert_ok(rung_buffer_write(parent.queue, parent.buffer, 0, sizeof data[0], data[0], &run));
    parent.problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 4, 4, parent.buffer, 0),
                                     rung_matrix_in_buffer(RUNG_F32, 4, 4, parent.buffer, 16),
                                     rung_matrix_in_buffer(RUNG_F32, 4, 4, parent.buffer, 32));
    assert_ok(rung_plan_create(parent.device, &parent.problem, NULL, &parent.plan));
    assert_ok(rung_plan_run(parent.plan, parent.queue, &parent.problem, NULL));
    assert_ok(rung_queue_finish(parent.queue));
    return 0;
}

static void destroy_all(void)
{
    rung_plan_destroy(parent.plan);
    rung_event_destroy(parent.event);
    rung_buffer_destroy(parent.buffer);
    rung_queue_destroy(parent.queue);
    rung_device_close(parent.device);
    rung_context_destroy(parent.context);
}

static int end(void **state)
{
    (void)state;
    destroy_all();
    assert_nothing_lives();
    return 0;
}

/* The child tells by its exit code, which is the number of the first step that was wrong:
 * cmocka's asserts are the parent's. */
static void check_child(int (*in_child)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(in_child());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with %s %d", WIFEXITED(status) ? "step" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    assert_ok(rung_plan_run(parent.plan, parent.queue, &parent.problem, NULL)); /* goes on */
    assert_ok(rung_queue_finish(parent.queue));
    assert_ok(multiply(parent.context));
    rung_matrix a = rung_matrix_of(RUNG_F32, 4, 4, data[0]), b = rung_matrix_of(RUNG_F32, 4, 4, data[1]);
    rung_matrix c = rung_matrix_of(RUNG_F32, 4, 4, data[2]);
    assert_int_equal(unit_first_wrong(&a, &b, &c), -1);
}

static bool is_lost(rung_status status)
{
    bool told = status == RUNG_STATUS_DEVICE_LOST && strstr(rung_error_text(), "fork");
    if (!told)
        printf("%s: %s\n", rung_status_name(status), rung_error_text());
    return told;
}

#define STEP(number, condition) \
    if (!(condition))           \
    return number

static int every_call_returns_lost(void)
{
    rung_device *device;
    rung_queue *queue;
    rung_event *event;
    rung_buffer *buffer;
    rung_plan *plan;
    rung_device_list *list;
    int64_t time;
    STEP(1, is_lost(rung_queue_create(parent.device, &queue)) && !queue);
    STEP(2, is_lost(rung_queue_finish(parent.queue)));
    STEP(3, is_lost(rung_event_create(parent.device, &event)) && !event);
    STEP(4, is_lost(rung_event_wait(parent.event)));
    STEP(5, is_lost(rung_event_time(parent.event, &time)));
    STEP(6, is_lost(rung_buffer_create(parent.device, 64, &buffer)) && !buffer);
    STEP(7, is_lost(rung_buffer_write(parent.queue, parent.buffer, 0, 4, data, NULL)));
    STEP(8, is_lost(rung_buffer_read(parent.queue, parent.buffer, 0, 4, data, NULL)));
    STEP(9, is_lost(rung_plan_create(parent.device, &parent.problem, NULL, &plan)) && !plan);
    STEP(10, is_lost(rung_plan_run(parent.plan, parent.queue, &parent.problem, NULL)));
    STEP(11, is_lost(multiply(parent.context)));
    STEP(12, is_lost(multiply(parent.context))); /* and again, its device forgotten */
    STEP(13, is_lost(rung_device_open(parent.context, "cuda", &device)) && !device);
    STEP(14, is_lost(rung_device_wrap(parent.context, "cuda", rungi_cuda_device_of(parent.device)->context, NULL,
                                      &device)) &&
                 !device);
    STEP(15, is_lost(rung_queue_wrap(parent.device, rung_queue_native(parent.queue), &queue)) && !queue);
    STEP(16, is_lost(rung_event_wrap(parent.device, rung_event_native(parent.event), &event)) && !event);
    STEP(17, is_lost(rung_buffer_wrap(parent.device, rung_buffer_native(parent.buffer), 0, 64, &buffer)) && !buffer);
    STEP(18, rung_device_list_create(parent.context, &list) == RUNG_OK);
    rung_device_list_destroy(list);
    STEP(19, rungi_cuda_event_is_done(parent.event)); /* so that nobody waits for it */
    STEP(20, emulated_driver.calls("forked") == 0);   /* the driver was not even asked */
    return 0;
}

static int all_is_destroyed(void)
{
    destroy_all();
    STEP(1, emulated_driver.calls("forked") == 0);
    return 0;
}

static int the_child_creates_its_own_context(void)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cuda", .verbose = -1};
    rung_context *context;
    rung_device *device;
    STEP(1, rung_context_create(&options, &context) == RUNG_OK);
    STEP(2, rung_device_open(context, "cuda", &device) == RUNG_STATUS_NO_DEVICE && !device);
    STEP(3, strstr(rung_error_text(), "fork") && strstr(rung_error_text(), "CUDA_ERROR_NOT_INITIALIZED"));
    STEP(4, multiply(context) == RUNG_STATUS_NO_DEVICE);
    rung_context_destroy(context);
    return 0;
}

static void the_child_gets_a_status(void **state)
{
    (void)state;
    check_child(every_call_returns_lost);
}

static void the_child_may_destroy(void **state)
{
    (void)state;
    check_child(all_is_destroyed);
}

static void the_child_opens_its_own(void **state)
{
    (void)state;
    check_child(the_child_creates_its_own_context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_child_gets_a_status),
        cmocka_unit_test(the_child_may_destroy),
        cmocka_unit_test(the_child_opens_its_own),
    };
    unit_clean_environment();
    emulated_driver_reset(NULL);
    if (!emulated_driver_is_loaded())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, begin, end);
}
