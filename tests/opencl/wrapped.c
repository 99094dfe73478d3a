/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped.c - the library on objects of the caller's: a driver loaded by the
 * test's own hand, whose contexts, queues, buffers and events must be used as they
 * are, waited for, and left alive. */
#include "support/opencl_unit.h"

#include <dlfcn.h>
#include <time.h>

/* ---- The caller's own objects ---------------------------------------------------- */

/* A driver loaded by the caller's own hand, with what the library has no use for. */
typedef struct opencl_caller {
    rungi_cl cl;
    cl_event (*create_user_event)(cl_context, cl_int *);
    cl_int (*set_user_event_status)(cl_event, cl_int);
    cl_mem (*create_sub_buffer)(cl_mem, cl_mem_flags, cl_buffer_create_type, const void *, cl_int *);
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
} opencl_caller_t;

static void find_symbol(opencl_caller_t *caller, const char *name, void *slot)
{
    void *address = dlsym(caller->cl.library, name);
    assert_non_null(address);
    memcpy(slot, &address, sizeof address);
}

static void open_caller(opencl_caller_t *caller)
{
    cl_int error;
    memset(caller, 0, sizeof *caller);
    assert_int_equal(rungi_cl_load(&caller->cl), RUNG_OK);
    find_symbol(caller, "clCreateUserEvent", &caller->create_user_event);
    find_symbol(caller, "clSetUserEventStatus", &caller->set_user_event_status);
    find_symbol(caller, "clCreateSubBuffer", &caller->create_sub_buffer);
    caller->id = ((rungi_opencl_device *)device)->id;
    caller->context = caller->cl.CreateContext(NULL, 1, &caller->id, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    caller->queue = caller->cl.CreateCommandQueue(caller->context, caller->id, CL_QUEUE_PROFILING_ENABLE, &error);
    assert_int_equal(error, CL_SUCCESS);
}

static void wrap_caller(opencl_caller_t *caller, rung_device **wrapped)
{
    assert_int_equal(rung_device_wrap(context, "opencl", caller->context, caller->id, wrapped), RUNG_OK);
}

static cl_uint references(opencl_caller_t *caller, cl_context of)
{
    cl_uint count = 0;
    caller->cl.GetContextInfo(of, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

static void close_caller(opencl_caller_t *caller)
{
    assert_int_equal(caller->cl.ReleaseCommandQueue(caller->queue), CL_SUCCESS);
    assert_int_equal(caller->cl.ReleaseContext(caller->context), CL_SUCCESS);
}

/* A driver's own threads may let go of what they used a little after it was finished. */
static void expect_references(opencl_caller_t *caller, cl_uint count)
{
    const struct timespec moment = {0, 1000000};
    for (int i = 0; i < 2000 && references(caller, caller->context) != count; i++)
        nanosleep(&moment, NULL);
    assert_int_equal(references(caller, caller->context), count);
}

static void wrapped_objects(void **state)
{
    opencl_caller_t caller;
    rung_device *wrapped;
    rung_queue *wrapped_queue;
    rung_buffer *a_buffer;
    rung_plan *plan;
    opencl_operands_t operands;
    cl_int error;
    (void)state;
    open_caller(&caller);
    cl_uint before = references(&caller, caller.context);
    wrap_caller(&caller, &wrapped);
    assert_string_equal(rung_device_describe(wrapped)->name, rung_device_describe(device)->name);
    assert_int_equal(rung_queue_wrap(wrapped, caller.queue, &wrapped_queue), RUNG_OK);
    assert_ptr_equal(rung_queue_native(wrapped_queue), caller.queue);
    make_operands(wrapped, &operands);

    /* A lies 32 bytes into a buffer of the caller's, and 1 element into ours. */
    cl_mem memory = caller.cl.CreateBuffer(caller.context, CL_MEM_READ_WRITE, 512, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(rung_buffer_wrap(wrapped, memory, 32, 4 * 64, &a_buffer), RUNG_OK);
    assert_ptr_equal(rung_buffer_native(a_buffer), memory);
    assert_int_equal(caller.cl.EnqueueWriteBuffer(caller.queue, memory, CL_TRUE, 32 + 4, sizeof operands.a_data,
                                                  operands.a_data, 0, NULL, NULL),
                     CL_SUCCESS);
    operands.problem.a.buffer = a_buffer;
    assert_int_equal(
        rung_buffer_write(wrapped_queue, operands.b_buffer, 8, sizeof operands.b_data, operands.b_data, NULL), RUNG_OK);
    assert_int_equal(rung_plan_create(wrapped, &operands.problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, wrapped_queue, &operands.problem, NULL), RUNG_OK);
    download_and_check(wrapped_queue, &operands);

    /* Our own copies go to the same place. */
    float back[35], sent = 77, received = 0;
    assert_int_equal(rung_buffer_read(wrapped_queue, a_buffer, 4, sizeof back, back, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(wrapped_queue), RUNG_OK);
    assert_memory_equal(back, operands.a_data, sizeof back);
    assert_int_equal(rung_buffer_write(wrapped_queue, a_buffer, 8, 4, &sent, NULL), RUNG_OK);
    assert_int_equal(caller.cl.EnqueueReadBuffer(caller.queue, memory, CL_TRUE, 32 + 8, 4, &received, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_true(received == sent);

    rung_plan_destroy(plan);
    rung_buffer_destroy(a_buffer);
    destroy_operands(&operands);
    rung_queue_destroy(wrapped_queue);
    rung_device_close(wrapped);
    /* Used, never destroyed: the caller's objects are as alive as before. */
    assert_int_equal(caller.cl.Finish(caller.queue), CL_SUCCESS);
    assert_int_equal(caller.cl.ReleaseMemObject(memory), CL_SUCCESS);
    expect_references(&caller, before);
    close_caller(&caller);
}

static void one_cl_mem_wrapped_twice(void **state)
{
    rung_buffer *whole, *part, *outside;
    (void)state;
    assert_int_equal(rung_buffer_create(device, 4096, &whole), RUNG_OK);
    assert_int_equal(rung_buffer_wrap(device, rung_buffer_native(whole), 256, 1024, &part), RUNG_OK);
    rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 4, 4, whole, 64),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, whole, 512),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, part, 0));
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_ALIASED);
    problem.c.offset = 16;
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    assert_int_equal(rung_buffer_wrap(device, rung_buffer_native(whole), 3500, 1024, &outside), RUNG_STATUS_INVALID);
    assert_null(outside);
    rung_buffer_destroy(part);
    rung_buffer_destroy(whole);
}

/* A sub-buffer is another cl_mem over the same memory. */
static void sub_buffers_are_their_parent_s(void **state)
{
    opencl_caller_t caller;
    rung_buffer *whole, *part;
    cl_int error;
    (void)state;
    open_caller(&caller);
    assert_int_equal(rung_buffer_create(device, 16384, &whole), RUNG_OK);
    cl_buffer_region region = {4096, 4096};
    cl_mem native = caller.create_sub_buffer(rung_buffer_native(whole), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                             &region, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(rung_buffer_wrap(device, native, 64, 1024, &part), RUNG_OK);
    rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 4, 4, whole, (4096 + 64) / 4),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, whole, 0),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, part, 0));
    rung_status meeting = rung_problem_check(&problem);
    problem.c.offset = 16;
    rung_status apart = rung_problem_check(&problem);
    rung_buffer_destroy(part);
    caller.cl.ReleaseMemObject(native);
    rung_buffer_destroy(whole);
    close_caller(&caller);
    assert_int_equal(meeting, RUNG_STATUS_ALIASED);
    assert_int_equal(apart, RUNG_OK);
}

static void wrapped_offsets_inside_an_element(void **state)
{
    opencl_operands_t operands;
    rung_buffer *odd;
    rung_plan *plan;
    (void)state;
    make_operands(device, &operands);
    assert_int_equal(rung_buffer_wrap(device, rung_buffer_native(operands.c_buffer), 2, 200, &odd), RUNG_OK);
    operands.problem.c.buffer = odd;
    assert_int_equal(rung_plan_create(device, &operands.problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &operands.problem, NULL), RUNG_STATUS_INVALID);
    rung_plan_destroy(plan);
    rung_buffer_destroy(odd);
    destroy_operands(&operands);
}

static void objects_that_may_not_be_wrapped(void **state)
{
    opencl_caller_t caller;
    rung_device *wrapped;
    rung_queue *refused_queue;
    rung_buffer *buffer;
    rung_event *event;
    cl_int error;
    (void)state;
    open_caller(&caller);
    cl_command_queue unordered = caller.cl.CreateCommandQueue(caller.context, caller.id,
                                                              CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    assert_int_equal(error, CL_SUCCESS);
    wrap_caller(&caller, &wrapped);
    assert_int_equal(rung_queue_wrap(wrapped, unordered, &refused_queue), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "out-of-order"));
    assert_null(refused_queue);
    caller.cl.ReleaseCommandQueue(unordered);

    /* `device` has another cl_context than the caller. */
    cl_mem memory = caller.cl.CreateBuffer(caller.context, CL_MEM_READ_WRITE, 64, NULL, &error);
    assert_int_equal(rung_buffer_wrap(device, memory, 0, 64, &buffer), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "cl_context"));
    assert_null(buffer);
    assert_int_equal(rung_buffer_wrap(wrapped, memory, 0, 65, &buffer), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_wrap(wrapped, memory, 64, 1, &buffer), RUNG_STATUS_INVALID);
    caller.cl.ReleaseMemObject(memory);
    cl_event user = caller.create_user_event(caller.context, &error);
    assert_int_equal(rung_event_wrap(device, user, &event), RUNG_STATUS_INVALID);
    assert_null(event);
    caller.set_user_event_status(user, CL_COMPLETE);
    caller.cl.ReleaseEvent(user);
    rung_device_close(wrapped);
    assert_int_equal(rung_device_wrap(context, "opencl", caller.context, NULL, &wrapped), RUNG_STATUS_INVALID);
    assert_null(wrapped);
    close_caller(&caller);
}

static void queues_of_another_context(void **state)
{
    opencl_caller_t caller;
    rung_queue *foreign;
    (void)state;
    open_caller(&caller);
    rung_status status = rung_queue_wrap(device, caller.queue, &foreign);
    rung_queue_destroy(foreign);
    close_caller(&caller);
    assert_int_equal(status, RUNG_STATUS_INVALID);
}

static void pause_milliseconds(long milliseconds)
{
    struct timespec pause = {0, milliseconds * 1000000};
    nanosleep(&pause, NULL);
}

/* Work that waits for the caller's event must not start before it. */
static void a_wait_list_is_waited_for(void **state)
{
    opencl_caller_t caller;
    rung_device *wrapped;
    rung_queue *wrapped_queue;
    rung_event *gate, *done;
    rung_plan *plan;
    opencl_operands_t operands;
    cl_int error, status = CL_QUEUED;
    (void)state;
    open_caller(&caller);
    wrap_caller(&caller, &wrapped);
    assert_int_equal(rung_queue_wrap(wrapped, caller.queue, &wrapped_queue), RUNG_OK);
    cl_event user = caller.create_user_event(caller.context, &error);
    assert_int_equal(rung_event_wrap(wrapped, user, &gate), RUNG_OK);
    assert_ptr_equal(rung_event_native(gate), user);
    assert_int_equal(rung_event_create(wrapped, &done), RUNG_OK);
    make_operands(wrapped, &operands);
    upload_operands(wrapped_queue, &operands, NULL);
    assert_int_equal(rung_plan_create(wrapped, &operands.problem, NULL, &plan), RUNG_OK);
    rung_run_options run = {.size = sizeof(rung_run_options), .wait = &gate, .wait_count = 1, .signal = done};
    assert_int_equal(rung_plan_run(plan, wrapped_queue, &operands.problem, &run), RUNG_OK);

    cl_event native = rung_event_native(done);
    for (int i = 0; i < 5; i++) {
        pause_milliseconds(20);
        caller.cl.GetEventInfo(native, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        assert_true(status > CL_RUNNING); /* queued or submitted, not begun */
    }
    assert_int_equal(caller.set_user_event_status(user, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(rung_event_wait(done), RUNG_OK);
    download_and_check(wrapped_queue, &operands);

    rung_event_destroy(done);
    rung_event_destroy(gate);
    caller.cl.ReleaseEvent(user);
    rung_plan_destroy(plan);
    destroy_operands(&operands);
    rung_queue_destroy(wrapped_queue);
    rung_device_close(wrapped);
    close_caller(&caller);
}

/* A queue made without profiling works, and says so when asked for a time. */
static void queues_without_profiling(void **state)
{
    opencl_caller_t caller;
    rung_device *wrapped;
    rung_queue *plain;
    rung_buffer *buffer;
    rung_event *event;
    cl_int error;
    int64_t time;
    (void)state;
    open_caller(&caller);
    cl_command_queue native = caller.cl.CreateCommandQueue(caller.context, caller.id, 0, &error);
    wrap_caller(&caller, &wrapped);
    assert_int_equal(rung_queue_wrap(wrapped, native, &plain), RUNG_OK);
    assert_int_equal(rung_buffer_create(wrapped, 64, &buffer), RUNG_OK);
    assert_int_equal(rung_event_create(wrapped, &event), RUNG_OK);
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = event};
    assert_int_equal(rung_buffer_write(plain, buffer, 0, 4, &time, &run), RUNG_OK);
    assert_int_equal(rung_event_wait(event), RUNG_OK);
    assert_int_equal(rung_event_time(event, &time), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "profiling"));
    rung_event_destroy(event);
    rung_buffer_destroy(buffer);
    rung_queue_destroy(plain);
    caller.cl.ReleaseCommandQueue(native);
    rung_device_close(wrapped);
    close_caller(&caller);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrapped_objects),
        cmocka_unit_test(one_cl_mem_wrapped_twice),
        cmocka_unit_test(sub_buffers_are_their_parent_s),
        cmocka_unit_test(wrapped_offsets_inside_an_element),
        cmocka_unit_test(objects_that_may_not_be_wrapped),
        cmocka_unit_test(queues_of_another_context),
        cmocka_unit_test(a_wait_list_is_waited_for),
        cmocka_unit_test(queues_without_profiling),
    };
    unit_clean_environment();
    if (!opencl_is_available())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, open_device, close_device);
}
