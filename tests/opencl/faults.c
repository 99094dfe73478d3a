/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - a driver that fails at the N-th call, for every N: the status,
 * the sentence, nothing left behind, and work as before once it is well again. A
 * leaked driver object is invisible to a leak checker, so they are counted. */
#include "support/opencl_unit.h"

/* ---- Objects that live in the driver --------------------------------------------- */

static const long assert_no_live_objects[RUNGI_CL_KINDS];

static void ignore_line(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static void ignore_span(void *user, const rung_span *span)
{
    (void)user;
    (void)span;
}

static int fresh_verbose = -1;
static rung_span_function fresh_span;

static rung_context *fresh_context(void)
{
    rung_context *fresh;
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .device = "opencl",
                                    .verbose = fresh_verbose,
                                    .log = ignore_line,
                                    .span = fresh_span};
    assert_int_equal(rung_context_create(&options, &fresh), RUNG_OK);
    return fresh;
}

static void objects_are_released(void **state)
{
    rung_context *fresh = fresh_context();
    rung_device *opened;
    rung_buffer *buffer;
    (void)state;
    assert_live(fresh, assert_no_live_objects);
    assert_int_equal(rung_device_open(fresh, "opencl", &opened), RUNG_OK);
    long expected[RUNGI_CL_KINDS] = {[RUNGI_CL_CONTEXT] = 1};
    assert_live(fresh, expected);
    assert_int_equal(rung_buffer_create(opened, 64, &buffer), RUNG_OK);
    expected[RUNGI_CL_BUFFER] = 1;
    assert_live(fresh, expected);
    rung_device_close(opened); /* the buffer keeps it */
    assert_live(fresh, expected);
    rung_buffer_destroy(buffer);
    assert_live(fresh, assert_no_live_objects);
    rung_context_destroy(fresh);
}

/* Strided operands, so that every way of staging is walked. */
static rung_status multiply_rows(rung_context *on, float beta, int64_t rows)
{
    static float data[3][64 * 12];
    rung_matrix parents[3];
    for (int i = 0; i < 3; i++)
        parents[i] = rung_matrix_of(RUNG_F32, 64, 12, data[i]);
    uint64_t seed = 5;
    unit_fill(&seed, data[0], 3 * 64 * 12);
    rung_matrix a = rung_matrix_block(parents[0], 1, 2, rows, 7);
    rung_matrix b = rung_matrix_transpose(rung_matrix_block(parents[1], 0, 1, 5, 7));
    rung_matrix c = rung_matrix_block(parents[2], 2, 2, rows, 5);
    rung_status status = rung_gemm(on, 1.0, a, b, beta, c);
    if (status == RUNG_OK && beta == 0.0f)
        assert_int_equal(unit_first_wrong(&a, &b, &c), -1);
    return status;
}

static rung_status multiply_strided(rung_context *on, float beta)
{
    return multiply_rows(on, beta, 6);
}

/* Between calls a context keeps its device, its queue and compiled programs. */
static void a_multiply_leaves_nothing(void **state)
{
    rung_context *fresh = fresh_context();
    (void)state;
    assert_int_equal(multiply_strided(fresh, 0.0f), RUNG_OK);
    const long expected[RUNGI_CL_KINDS] = {[RUNGI_CL_CONTEXT] = 1, [RUNGI_CL_QUEUE] = 1, [RUNGI_CL_PROGRAM] = 1};
    assert_live(fresh, expected);
    for (int i = 0; i < 5; i++)
        assert_int_equal(multiply_strided(fresh, 1.0f), RUNG_OK);
    assert_live(fresh, expected); /* and compiles once */
    rung_context_destroy(fresh);
}

/* ---- A driver that fails --------------------------------------------------------- */

/* The fault to come: the `countdown`-th call of the one replaced function gives
 * `error`. Finish and Flush do their work all the same, so that what goes on in the
 * driver is over when the test looks at it. */
static struct {
    rungi_cl real;
    int countdown, met;
    cl_int error;
    int finished_after; /* calls of Finish since the fault */
} fault;

static bool is_failing_call(void)
{
    if (fault.countdown == 0 || --fault.countdown > 0)
        return false;
    fault.met++;
    return true;
}

static cl_int CL_API_CALL fail_get_platforms(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
    return is_failing_call() ? fault.error : fault.real.GetPlatformIDs(room, ids, count);
}

static cl_context CL_API_CALL fail_create_context(const cl_context_properties *properties, cl_uint count,
                                                  const cl_device_id *ids,
                                                  void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                                  void *user, cl_int *error)
{
    if (!is_failing_call())
        return fault.real.CreateContext(properties, count, ids, notify, user, error);
    *error = fault.error;
    return NULL;
}

static cl_command_queue CL_API_CALL fail_create_queue(cl_context of, cl_device_id id,
                                                      cl_command_queue_properties properties, cl_int *error)
{
    if (!is_failing_call())
        return fault.real.CreateCommandQueue(of, id, properties, error);
    *error = fault.error;
    return NULL;
}

static cl_mem CL_API_CALL fail_create_buffer(cl_context of, cl_mem_flags flags, size_t size, void *host, cl_int *error)
{
    if (!is_failing_call())
        return fault.real.CreateBuffer(of, flags, size, host, error);
    *error = fault.error;
    return NULL;
}

static cl_program CL_API_CALL fail_create_program(cl_context of, cl_uint count, const char **texts,
                                                  const size_t *lengths, cl_int *error)
{
    if (!is_failing_call())
        return fault.real.CreateProgramWithSource(of, count, texts, lengths, error);
    *error = fault.error;
    return NULL;
}

static cl_kernel CL_API_CALL fail_create_kernel(cl_program of, const char *name, cl_int *error)
{
    if (!is_failing_call())
        return fault.real.CreateKernel(of, name, error);
    *error = fault.error;
    return NULL;
}

static cl_int CL_API_CALL fail_set_argument(cl_kernel of, cl_uint index, size_t size, const void *value)
{
    return is_failing_call() ? fault.error : fault.real.SetKernelArg(of, index, size, value);
}

static cl_int CL_API_CALL fail_kernel_info(cl_kernel of, cl_kernel_info what, size_t room, void *to, size_t *size)
{
    return is_failing_call() ? fault.error : fault.real.GetKernelInfo(of, what, room, to, size);
}

static cl_int CL_API_CALL fail_group_info(cl_kernel of, cl_device_id id, cl_kernel_work_group_info what, size_t room,
                                          void *to, size_t *size)
{
    return is_failing_call() ? fault.error : fault.real.GetKernelWorkGroupInfo(of, id, what, room, to, size);
}

static cl_int CL_API_CALL fail_launch(cl_command_queue on, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                      const size_t *all, const size_t *group, cl_uint waits, const cl_event *wait,
                                      cl_event *event)
{
    return is_failing_call()
               ? fault.error
               : fault.real.EnqueueNDRangeKernel(on, kernel, dimensions, offset, all, group, waits, wait, event);
}

static cl_int CL_API_CALL fail_write(cl_command_queue on, cl_mem to, cl_bool blocking, size_t offset, size_t bytes,
                                     const void *from, cl_uint waits, const cl_event *wait, cl_event *event)
{
    return is_failing_call() ? fault.error
                             : fault.real.EnqueueWriteBuffer(on, to, blocking, offset, bytes, from, waits, wait, event);
}

static cl_int CL_API_CALL fail_read(cl_command_queue on, cl_mem from, cl_bool blocking, size_t offset, size_t bytes,
                                    void *to, cl_uint waits, const cl_event *wait, cl_event *event)
{
    return is_failing_call() ? fault.error
                             : fault.real.EnqueueReadBuffer(on, from, blocking, offset, bytes, to, waits, wait, event);
}

static void *CL_API_CALL fail_map(cl_command_queue on, cl_mem of, cl_bool blocking, cl_map_flags flags, size_t offset,
                                  size_t bytes, cl_uint waits, const cl_event *wait, cl_event *event, cl_int *error)
{
    if (!is_failing_call())
        return fault.real.EnqueueMapBuffer(on, of, blocking, flags, offset, bytes, waits, wait, event, error);
    *error = fault.error;
    return NULL;
}

static cl_int CL_API_CALL fail_wait(cl_uint count, const cl_event *events)
{
    cl_int error = fault.real.WaitForEvents(count, events);
    return is_failing_call() ? fault.error : error;
}

static cl_int CL_API_CALL fail_marker(cl_command_queue on, cl_uint waits, const cl_event *wait, cl_event *event)
{
    return is_failing_call() ? fault.error : fault.real.EnqueueMarkerWithWaitList(on, waits, wait, event);
}

static cl_int CL_API_CALL fail_profiling(cl_event event, cl_profiling_info what, size_t room, void *to, size_t *size)
{
    return is_failing_call() ? fault.error : fault.real.GetEventProfilingInfo(event, what, room, to, size);
}

static cl_int CL_API_CALL fail_flush(cl_command_queue on)
{
    if (!is_failing_call())
        return fault.real.Flush(on);
    fault.real.Finish(on);
    return fault.error;
}

static cl_int CL_API_CALL fail_finish(cl_command_queue on)
{
    cl_int error = fault.real.Finish(on);
    return is_failing_call() ? fault.error : error;
}

static cl_int CL_API_CALL counting_finish(cl_command_queue on)
{
    fault.finished_after += fault.met > 0;
    return fault.real.Finish(on);
}

static rungi_cl *table_of(rung_context *of)
{
    const rungi_backend *backend;
    void *state;
    assert_int_equal(rungi_context_load_backend(of, "opencl", &backend, &state), RUNG_OK);
    return state;
}

/* clang-format off */
static void break_get_platforms(rungi_cl *cl) { cl->GetPlatformIDs = fail_get_platforms; }
static void break_create_context(rungi_cl *cl) { cl->CreateContext = fail_create_context; }
static void break_create_queue(rungi_cl *cl) { cl->CreateCommandQueue = fail_create_queue; }
static void break_create_buffer(rungi_cl *cl) { cl->CreateBuffer = fail_create_buffer; }
static void break_program(rungi_cl *cl) { cl->CreateProgramWithSource = fail_create_program; }
static void break_create_kernel(rungi_cl *cl) { cl->CreateKernel = fail_create_kernel; }
static void break_set_argument(rungi_cl *cl) { cl->SetKernelArg = fail_set_argument; }
static void break_kernel_info(rungi_cl *cl) { cl->GetKernelInfo = fail_kernel_info; }
static void break_group_info(rungi_cl *cl) { cl->GetKernelWorkGroupInfo = fail_group_info; }
static void break_launch(rungi_cl *cl) { cl->EnqueueNDRangeKernel = fail_launch; }
static void break_write(rungi_cl *cl) { cl->EnqueueWriteBuffer = fail_write; }
static void break_read(rungi_cl *cl) { cl->EnqueueReadBuffer = fail_read; }
static void break_finish(rungi_cl *cl) { cl->Finish = fail_finish; }
static void break_map(rungi_cl *cl) { cl->EnqueueMapBuffer = fail_map; }
static void break_wait(rungi_cl *cl) { cl->WaitForEvents = fail_wait; }
static void break_marker(rungi_cl *cl) { cl->EnqueueMarkerWithWaitList = fail_marker; }
static void break_profiling(rungi_cl *cl) { cl->GetEventProfilingInfo = fail_profiling; }
/* clang-format on */
static void break_flush(rungi_cl *cl)
{
    cl->Flush = fail_flush;
    cl->Finish = counting_finish;
}

typedef struct opencl_failure {
    void (*break_it)(rungi_cl *);
    cl_int error;
    rung_status expected;
    const char *told;
} opencl_failure_t;

static const opencl_failure_t failures[] = {
    {break_get_platforms, CL_OUT_OF_HOST_MEMORY, RUNG_STATUS_NO_DEVICE, "driver"},
    {break_create_context, CL_DEVICE_NOT_AVAILABLE, RUNG_STATUS_NO_DEVICE, "clCreateContext"},
    {break_create_context, CL_OUT_OF_HOST_MEMORY, RUNG_STATUS_NO_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {break_create_queue, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clCreateCommandQueue"},
    {break_create_buffer, CL_MEM_OBJECT_ALLOCATION_FAILURE, RUNG_STATUS_NO_MEMORY, "clCreateBuffer"},
    {break_create_buffer, CL_INVALID_BUFFER_SIZE, RUNG_STATUS_NO_MEMORY, "CL_INVALID_BUFFER_SIZE"},
    {break_program, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clCreateProgramWithSource"},
    {break_create_kernel, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clCreateKernel"},
    {break_set_argument, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clSetKernelArg"},
    {break_set_argument, CL_INVALID_ARG_SIZE, RUNG_STATUS_INVALID, "dialect.h"},
    {break_kernel_info, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "CL_OUT_OF_RESOURCES"},
    {break_group_info, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "CL_OUT_OF_RESOURCES"},
    {break_launch, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clEnqueueNDRangeKernel"},
    {break_launch, CL_INVALID_WORK_GROUP_SIZE, RUNG_STATUS_UNSUPPORTED, "threads"},
    {break_launch, -9999, RUNG_STATUS_DEVICE_LOST, "-9999"}, /* what NVIDIA says of a bad access */
    {break_write, CL_MEM_OBJECT_ALLOCATION_FAILURE, RUNG_STATUS_NO_MEMORY, "clEnqueueWriteBuffer"},
    {break_read, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clEnqueueReadBuffer"},
    {break_flush, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clFlush"},
    {break_flush, CL_INVALID_COMMAND_QUEUE, RUNG_STATUS_DEVICE_LOST, "clFlush"}, /* the work was submitted */
    {break_finish, CL_INVALID_COMMAND_QUEUE, RUNG_STATUS_DEVICE_LOST, "clFinish"},
    {break_finish, CL_OUT_OF_HOST_MEMORY, RUNG_STATUS_NO_MEMORY, "clFinish"},
    {break_finish, CL_OUT_OF_RESOURCES, RUNG_STATUS_DEVICE_LOST, "open it again"}, /* a wild kernel */
};

static void clear_fault(rungi_cl *cl)
{
#define X(name) cl->name = fault.real.name;
    RUNGI_CL_FUNCTION_LIST(X)
#undef X
}

static void set_failing_call(rungi_cl *cl, const opencl_failure_t *failure, int nth)
{
    memset(&fault, 0, sizeof fault);
#define X(name) fault.real.name = cl->name;
    RUNGI_CL_FUNCTION_LIST(X)
#undef X
    fault.error = failure->error;
    fault.countdown = nth;
    failure->break_it(cl);
}

/* One multiply in which the n-th call fails; false if there was no n-th. */
static bool survives(const opencl_failure_t *failure, int nth)
{
    rung_context *fresh = fresh_context();
    rungi_cl *cl = table_of(fresh);
    set_failing_call(cl, failure, nth);
    rung_status status = multiply_strided(fresh, 1.0f);
    bool met = fault.met > 0;
    if (met) {
        if (status != failure->expected || !strstr(rung_error_text(), failure->told))
            fail_msg("call %d, error %d gave %s: %s", nth, (int)failure->error, rung_status_name(status),
                     rung_error_text());
        assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_BUFFER), 0);
        assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_EVENT), 0);
        assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_KERNEL), 0);
    } else {
        assert_int_equal(status, RUNG_OK);
    }
    clear_fault(cl);
    assert_int_equal(multiply_strided(fresh, 0.0f), RUNG_OK);                /* with checked result */
    assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_CONTEXT), 1); /* a lost one is gone */
    assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_QUEUE), 1);
    rung_context_destroy(fresh);
    return met;
}

static void each_function_may_fail_at_each_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        int nth = 1;
        while (survives(&failures[i], nth))
            nth++;
        assert_true(nth > 1); /* the function was called at all */
    }
}

/* A run that is traced has an event of the trace's own to give back. */
static void each_function_may_fail_while_traced(void **state)
{
    const opencl_failure_t traced[] = {
        {break_set_argument, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clSetKernelArg"},
        {break_launch, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clEnqueueNDRangeKernel"},
        {break_flush, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clFlush"},
        {break_finish, CL_OUT_OF_RESOURCES, RUNG_STATUS_DEVICE_LOST, "clFinish"},
    };
    (void)state;
    fresh_verbose = 1;
    for (size_t i = 0; i < sizeof traced / sizeof *traced; i++) {
        int nth = 1;
        while (survives(&traced[i], nth))
            nth++;
        assert_true(nth > 1);
    }
    fresh_verbose = -1;
}

/* ---- The same in panels ---------------------------------------------------------- */

enum { PANEL_ROWS = 52 }; /* three panels of 16 and one of 4: a lane is used twice */

/* Pinned memory may be missing without harm, and destroying an event may find it failed;
 * nothing else goes unnoticed. What is alive afterwards is
 * what a context keeps: three queues, and pinned memory with a queue of its own. */
static bool survives_in_panels(const opencl_failure_t *failure, int nth)
{
    rung_context *fresh = fresh_context();
    rungi_cl *cl = table_of(fresh);
    fresh->overlap = 1;
    set_failing_call(cl, failure, nth);
    rung_status status = multiply_rows(fresh, 1.0f, PANEL_ROWS);
    bool met = fault.met > 0;
    if (status != RUNG_OK && (!met || status != failure->expected || !strstr(rung_error_text(), failure->told)))
        fail_msg("call %d, error %d gave %s: %s", nth, (int)failure->error, rung_status_name(status),
                 rung_error_text());
    assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_BUFFER), fresh->pinned.memory != NULL);
    assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_EVENT), 0);
    assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_KERNEL), 0);
    if (met && status == RUNG_OK && failure->break_it != break_create_buffer && failure->break_it != break_map &&
        failure->break_it != break_create_queue && (failure->break_it != break_wait || nth == 1))
        fail_msg("call %d, error %d, %s, went unnoticed", nth, (int)failure->error, failure->told);
    clear_fault(cl);
    assert_int_equal(multiply_rows(fresh, 0.0f, PANEL_ROWS), RUNG_OK); /* with checked result */
    assert_non_null(fresh->pinned.memory);
    const long expected[RUNGI_CL_KINDS] = {[RUNGI_CL_CONTEXT] = 1,
                                           [RUNGI_CL_QUEUE] = 3 + 1,
                                           [RUNGI_CL_BUFFER] = 1,
                                           [RUNGI_CL_PROGRAM] = rungi_opencl_live_objects(fresh, RUNGI_CL_PROGRAM)};
    assert_live(fresh, expected);
    rung_context_destroy(fresh);
    return met;
}

/* The n-th calls: the first few each, then ever fewer, since arguments are set a hundred times. */
static void check_in_panels(const opencl_failure_t *failure)
{
    int nth = 1;
    while (survives_in_panels(failure, nth))
        nth += 1 + nth / 6;
    assert_true(nth > 1); /* the function was called at all */
}

static void each_function_may_fail_in_panels(void **state)
{
    const opencl_failure_t some[] = {
        {break_create_queue, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clCreateCommandQueue"},
        {break_create_buffer, CL_MEM_OBJECT_ALLOCATION_FAILURE, RUNG_STATUS_NO_MEMORY, "clCreateBuffer"},
        {break_map, CL_MAP_FAILURE, RUNG_STATUS_DEVICE_LOST, ""},
        {break_create_kernel, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clCreateKernel"},
        {break_set_argument, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clSetKernelArg"},
        {break_launch, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clEnqueueNDRangeKernel"},
        {break_write, CL_MEM_OBJECT_ALLOCATION_FAILURE, RUNG_STATUS_NO_MEMORY, "clEnqueueWriteBuffer"},
        {break_read, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clEnqueueReadBuffer"},
        {break_flush, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clFlush"},
        {break_finish, CL_OUT_OF_RESOURCES, RUNG_STATUS_DEVICE_LOST, "clFinish"},
        {break_wait, CL_OUT_OF_RESOURCES, RUNG_STATUS_DEVICE_LOST, "clWaitForEvents"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        check_in_panels(&some[i]);
}

/* With events for the times of everything. */
static void each_function_may_fail_while_spans_are_recorded(void **state)
{
    const opencl_failure_t told[] = {
        {break_marker, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clEnqueueMarkerWithWaitList"},
        {break_profiling, CL_PROFILING_INFO_NOT_AVAILABLE, RUNG_STATUS_UNSUPPORTED, "profiling"},
        {break_write, CL_MEM_OBJECT_ALLOCATION_FAILURE, RUNG_STATUS_NO_MEMORY, "clEnqueueWriteBuffer"},
        {break_launch, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clEnqueueNDRangeKernel"},
        {break_read, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clEnqueueReadBuffer"},
        {break_flush, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clFlush"},
        {break_finish, CL_OUT_OF_RESOURCES, RUNG_STATUS_DEVICE_LOST, "clFinish"},
    };
    (void)state;
    fresh_span = ignore_span;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        check_in_panels(&told[i]);
    fresh_span = NULL;
}

/* After a failure every queue is waited for, not the failed one alone. */
static void all_queues_are_waited_for(void **state)
{
    const opencl_failure_t failure = {break_flush, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clFlush"};
    (void)state;
    for (int nth = 1;; nth++) {
        rung_context *fresh = fresh_context();
        rungi_cl *cl = table_of(fresh);
        fresh->overlap = 1;
        set_failing_call(cl, &failure, nth);
        multiply_rows(fresh, 1.0f, PANEL_ROWS);
        bool met = fault.met > 0;
        int waited = fault.finished_after;
        clear_fault(cl);
        rung_context_destroy(fresh);
        if (!met)
            return;
        if (waited < 3)
            fail_msg("the %d-th flush failed and %d queues were waited for", nth, waited);
    }
}

static cl_int CL_API_CALL fail_finish_too(cl_command_queue on)
{
    cl_int error = fault.real.Finish(on);
    return fault.met > 0 ? CL_OUT_OF_HOST_MEMORY : error;
}

/* Waiting after a failure may fail as well: what is told is what came first. */
static void the_first_failure_is_reported(void **state)
{
    const opencl_failure_t failure = {break_launch, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, ""};
    rung_context *fresh = fresh_context();
    rungi_cl *cl = table_of(fresh);
    (void)state;
    fresh->overlap = 1;
    set_failing_call(cl, &failure, 3);
    cl->Finish = fail_finish_too;
    assert_int_equal(multiply_rows(fresh, 1.0f, PANEL_ROWS), RUNG_STATUS_NO_MEMORY);
    assert_non_null(strstr(rung_error_text(), "clEnqueueNDRangeKernel"));
    clear_fault(cl);
    rung_context_destroy(fresh);
}

/* A copy that could not be flushed is still under way: memory that it reads or
 * writes must not be let go before the queue was waited for. */
static void a_failed_flush_is_waited_for(void **state)
{
    const opencl_failure_t failure = {break_flush, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, "clFlush"};
    (void)state;
    for (int nth = 1;; nth++) {
        rung_context *fresh = fresh_context();
        rungi_cl *cl = table_of(fresh);
        set_failing_call(cl, &failure, nth);
        multiply_strided(fresh, 1.0f);
        bool met = fault.met > 0, waited = fault.finished_after > 0;
        clear_fault(cl);
        rung_context_destroy(fresh);
        if (!met)
            return;
        if (!waited)
            fail_msg("the %d-th flush failed and nothing was waited for", nth);
    }
}

/* ---- Several launches ------------------------------------------------------------ */

/* A plan cuts C only where it has more blocks than a grid takes, some 2^31. Here the
 * device is told that it takes fewer. */
static rung_plan *plan_with_several_launches(opencl_operands_t *operands, int64_t blocks_max)
{
    rungi_opencl_device *own = rungi_opencl_device_of(device);
    rung_kernel *kernel;
    rung_plan *plan;
    int64_t real = own->blocks_max;
    assert_true(real >= INT32_MAX / 2);
    assert_int_equal(rung_kernel_find(context, "opencl", "1", &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel, .parameters = "BLOCK=2"};
    own->blocks_max = blocks_max;
    assert_int_equal(rung_plan_create(device, &operands->problem, &options, &plan), RUNG_OK);
    own->blocks_max = real;
    assert_int_equal(rung_plan_describe(plan)->blocks, 3 * 3); /* of 5 x 6, all launches */
    return plan;
}

/* Runs with the n-th launch failing; false if there was no n-th. */
static bool nth_launch_fails(rung_plan *plan, opencl_operands_t *operands, rung_event *done, int nth)
{
    const opencl_failure_t failure = {break_launch, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, ""};
    rungi_cl *cl = table_of(context);
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = done};
    long before = rungi_opencl_live_objects(context, RUNGI_CL_EVENT);
    set_failing_call(cl, &failure, nth);
    rung_status status = rung_plan_run(plan, queue, &operands->problem, &run);
    bool met = fault.met > 0;
    clear_fault(cl);
    assert_int_equal(status, met ? RUNG_STATUS_NO_MEMORY : RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    assert_int_equal(rungi_opencl_live_objects(context, RUNGI_CL_EVENT), before); /* `done` kept its own */
    return met;
}

static void check_launches(int64_t blocks_max, int launches)
{
    opencl_operands_t operands;
    rung_event *done;
    int64_t time = 0;
    make_operands(device, &operands);
    upload_operands(queue, &operands, NULL);
    rung_plan *plan = plan_with_several_launches(&operands, blocks_max);
    assert_int_equal(rung_event_create(device, &done), RUNG_OK);
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = done};
    assert_int_equal(rung_plan_run(plan, queue, &operands.problem, &run), RUNG_OK);
    download_and_check(queue, &operands);
    assert_int_equal(rung_event_time(done, &time), RUNG_OK);
    assert_true(time > 0);
    for (int nth = 1; nth <= launches; nth++)
        assert_true(nth_launch_fails(plan, &operands, done, nth));
    assert_false(nth_launch_fails(plan, &operands, done, launches + 1));
    rung_event_destroy(done);
    rung_plan_destroy(plan);
    destroy_operands(&operands);
    assert_int_equal(rungi_opencl_live_objects(context, RUNGI_CL_EVENT), 0);
}

static void several_launches(void **state)
{
    (void)state;
    check_launches(1, 9);
    check_launches(2, 6);
    check_launches(3, 3);
    check_launches(7, 2);
    check_launches(9, 1);
}

/* ---- Events that cannot be retained ---------------------------------------------- */

/* Ours are counted here, and one too many releases is noted and not passed on. */
static struct {
    cl_event events[256];
    int held[256], count, too_many;
} ledger;

static int *held(cl_event event)
{
    for (int i = 0; i < ledger.count; i++)
        if (ledger.events[i] == event)
            return &ledger.held[i];
    assert_true(ledger.count < 256);
    ledger.events[ledger.count] = event;
    ledger.held[ledger.count] = 1; /* made by the command itself */
    return &ledger.held[ledger.count++];
}

static cl_int CL_API_CALL ledger_retain(cl_event event)
{
    int *count = held(event);
    if (is_failing_call())
        return fault.error;
    ++*count;
    return fault.real.RetainEvent(event);
}

static cl_int CL_API_CALL ledger_release(cl_event event)
{
    int *count = held(event);
    if (*count == 0) {
        ledger.too_many++;
        return CL_INVALID_EVENT;
    }
    --*count;
    return fault.real.ReleaseEvent(event);
}

static void break_retain(rungi_cl *cl)
{
    cl->RetainEvent = ledger_retain;
    cl->ReleaseEvent = ledger_release;
}

/* The address of a released event comes back as another one: keep every event of
 * the run alive by one reference of the test's own. */
static cl_event retained_events[256];
static int retained_event_count;

static cl_int CL_API_CALL retain_write_event(cl_command_queue on, cl_mem to, cl_bool blocking, size_t offset,
                                             size_t bytes, const void *from, cl_uint waits, const cl_event *wait,
                                             cl_event *event)
{
    cl_int error = fault.real.EnqueueWriteBuffer(on, to, blocking, offset, bytes, from, waits, wait, event);
    if (error == CL_SUCCESS && fault.real.RetainEvent(*event) == CL_SUCCESS)
        retained_events[retained_event_count++] = *event;
    return error;
}

static cl_int CL_API_CALL retain_launch_event(cl_command_queue on, cl_kernel kernel, cl_uint dimensions,
                                              const size_t *offset, const size_t *all, const size_t *group,
                                              cl_uint waits, const cl_event *wait, cl_event *event)
{
    cl_int error = fault.real.EnqueueNDRangeKernel(on, kernel, dimensions, offset, all, group, waits, wait, event);
    if (error == CL_SUCCESS && fault.real.RetainEvent(*event) == CL_SUCCESS)
        retained_events[retained_event_count++] = *event;
    return error;
}

static cl_int CL_API_CALL retain_read_event(cl_command_queue on, cl_mem from, cl_bool blocking, size_t offset,
                                            size_t bytes, void *to, cl_uint waits, const cl_event *wait,
                                            cl_event *event)
{
    cl_int error = fault.real.EnqueueReadBuffer(on, from, blocking, offset, bytes, to, waits, wait, event);
    if (error == CL_SUCCESS && fault.real.RetainEvent(*event) == CL_SUCCESS)
        retained_events[retained_event_count++] = *event;
    return error;
}

static void events_that_cannot_be_retained(void **state)
{
    const opencl_failure_t failure = {break_retain, CL_OUT_OF_RESOURCES, RUNG_STATUS_NO_MEMORY, ""};
    (void)state;
    for (int nth = 1;; nth++) {
        rung_context *fresh = fresh_context();
        rungi_cl *cl = table_of(fresh);
        memset(&ledger, 0, sizeof ledger);
        retained_event_count = 0;
        set_failing_call(cl, &failure, nth);
        cl->EnqueueWriteBuffer = retain_write_event;
        cl->EnqueueNDRangeKernel = retain_launch_event;
        cl->EnqueueReadBuffer = retain_read_event;
        multiply_strided(fresh, 1.0f);
        bool met = fault.met > 0;
        for (int i = 0; i < retained_event_count; i++)
            fault.real.ReleaseEvent(retained_events[i]);
        clear_fault(cl);
        assert_int_equal(ledger.too_many, 0);
        assert_int_equal(rungi_opencl_live_objects(fresh, RUNGI_CL_EVENT), 0);
        assert_int_equal(multiply_strided(fresh, 0.0f), RUNG_OK);
        rung_context_destroy(fresh);
        if (!met)
            return;
    }
}

/* ---- A driver with many devices ------------------------------------------------- */

enum { PLATFORMS = 20, DEVICES_EACH = 5, LONG_NAME = 3000, LONG_EXTENSIONS = 20000, WAVEFRONT_WIDTH_AMD = 0x4043 };

static cl_int CL_API_CALL many_platforms(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
    cl_platform_id first;
    cl_int error = fault.real.GetPlatformIDs(1, &first, NULL);
    for (cl_uint i = 0; ids && i < room && i < PLATFORMS; i++)
        ids[i] = first;
    if (count)
        *count = PLATFORMS;
    return error;
}

static cl_int CL_API_CALL many_devices(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *ids,
                                       cl_uint *count)
{
    cl_device_id first;
    cl_int error = fault.real.GetDeviceIDs(platform, type, 1, &first, NULL);
    for (cl_uint i = 0; ids && i < room && i < DEVICES_EACH; i++)
        ids[i] = first;
    if (count)
        *count = DEVICES_EACH;
    return error;
}

/* Writes `length` letters and an ending, as a driver answers. */
static cl_int answer(size_t length, const char *ending, size_t room, void *value, size_t *bytes)
{
    size_t all = length + strlen(ending) + 1;
    if (bytes)
        *bytes = all;
    if (value && room < all)
        return CL_INVALID_VALUE;
    if (value) {
        memset(value, 'x', length);
        strcpy((char *)value + length, ending);
    }
    return CL_SUCCESS;
}

static cl_int CL_API_CALL long_texts(cl_device_id id, cl_device_info what, size_t room, void *value, size_t *bytes)
{
    if (what == CL_DEVICE_NAME)
        return answer(LONG_NAME, "", room, value, bytes);
    if (what == CL_DEVICE_EXTENSIONS)
        return answer(LONG_EXTENSIONS, " cl_amd_device_attribute_query", room, value, bytes);
    if (what == WAVEFRONT_WIDTH_AMD) {
        memcpy(value, &(cl_uint){64}, sizeof(cl_uint));
        return CL_SUCCESS;
    }
    return fault.real.GetDeviceInfo(id, what, room, value, bytes);
}

static void imitate_many(rungi_cl *cl)
{
    cl->GetPlatformIDs = many_platforms;
    cl->GetDeviceIDs = many_devices;
    cl->GetDeviceInfo = long_texts;
}

/* Nothing is cut: neither the lists of a driver nor its texts. */
static void many_devices_and_long_texts(void **state)
{
    const opencl_failure_t many = {imitate_many, 0, RUNG_OK, ""};
    rung_context *fresh = fresh_context();
    rungi_cl *cl = table_of(fresh);
    rung_device_list *list;
    rung_device *opened;
    int64_t found = 0;
    (void)state;
    set_failing_call(cl, &many, 0);
    assert_int_equal(rung_device_list_create(fresh, &list), RUNG_OK);
    for (int64_t i = 0; i < rung_device_list_count(list); i++) {
        const rung_device_info *info = rung_device_list_at(list, i);
        char name[32];
        if (strcmp(info->backend, "opencl") != 0)
            continue;
        snprintf(name, sizeof name, "opencl:%lld", (long long)found++);
        assert_string_equal(info->name, name);
        assert_int_equal(strlen(info->title), LONG_NAME);
        assert_int_equal(info->warp_size, 64); /* the extension at the end of the list was seen */
    }
    assert_int_equal(found, PLATFORMS * DEVICES_EACH);
    rung_device_list_destroy(list);
    assert_int_equal(rung_device_open(fresh, "opencl:99", &opened), RUNG_OK);
    assert_int_equal(strlen(rung_device_describe(opened)->title), LONG_NAME);
    rung_device_close(opened);
    assert_int_equal(rung_device_open(fresh, "opencl:100", &opened), RUNG_STATUS_NO_DEVICE);
    clear_fault(cl);
    rung_context_destroy(fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_launches),
        cmocka_unit_test(many_devices_and_long_texts),
        cmocka_unit_test(objects_are_released),
        cmocka_unit_test(a_multiply_leaves_nothing),
        cmocka_unit_test(each_function_may_fail_at_each_call),
        cmocka_unit_test(each_function_may_fail_while_traced),
        cmocka_unit_test(each_function_may_fail_in_panels),
        cmocka_unit_test(each_function_may_fail_while_spans_are_recorded),
        cmocka_unit_test(all_queues_are_waited_for),
        cmocka_unit_test(the_first_failure_is_reported),
        cmocka_unit_test(a_failed_flush_is_waited_for),
        cmocka_unit_test(events_that_cannot_be_retained),
    };
    unit_clean_environment();
    if (!opencl_is_available())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, open_device, close_device);
}
