/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped.c - the library on objects of the caller's: a driver that the test speaks to
 * itself, whose contexts, streams, events and memory must be used as they are and left alive,
 * and whose current context no call may change. */
#include "cuda_unit.h"

/* ---- The caller ------------------------------------------------------------------------------ */

typedef struct cuda_caller {
    rungi_cu cu;
    void *context, *other; /* two CUcontexts; neither is current */
    rungi_cu_stream stream;
    rungi_cu_event event;
    rungi_cu_pointer memory;
    int (*begin_capture)(rungi_cu_stream, int mode);
    int (*end_capture)(rungi_cu_stream, void **graph);
    int (*instantiate)(void **exec, void *graph, unsigned long long flags);
    int (*launch)(void *exec, rungi_cu_stream);
    int (*destroy_exec)(void *exec);
    int (*destroy_graph)(void *graph);
    rung_context *rung, *calls; /* the second for rung_gemm, which keeps its device */
    rung_device *device;
    rung_queue *queue;
} cuda_caller_t;

enum { MEMORY = 4096 };

static int caller_verbose = -1;

static void open_caller(cuda_caller_t *caller)
{
    memset(caller, 0, sizeof *caller);
    assert_int_equal(rungi_cu_load(&caller->cu), RUNG_OK);
    void *library = caller->cu.library;
    assert_true(emulated_driver_symbol(library, "cuStreamBeginCapture_v2", &caller->begin_capture) &&
                emulated_driver_symbol(library, "cuStreamEndCapture", &caller->end_capture) &&
                emulated_driver_symbol(library, "cuGraphInstantiateWithFlags", &caller->instantiate) &&
                emulated_driver_symbol(library, "cuGraphLaunch", &caller->launch) &&
                emulated_driver_symbol(library, "cuGraphExecDestroy", &caller->destroy_exec) &&
                emulated_driver_symbol(library, "cuGraphDestroy", &caller->destroy_graph));
    assert_int_equal(emulated_driver.create_context(&caller->other, 0, 0), 0);
    assert_int_equal(emulated_driver.create_context(&caller->context, 0, 0), 0);
    assert_int_equal(caller->cu.StreamCreate(&caller->stream, RUNGI_CU_STREAM_NON_BLOCKING), 0);
    assert_int_equal(caller->cu.EventCreate(&caller->event, 0), 0);
    assert_int_equal(caller->cu.MemAlloc(&caller->memory, MEMORY), 0);
    for (int i = 0; i < 2; i++) {
        rungi_cu_context popped;
        assert_int_equal(caller->cu.CtxPopCurrent(&popped), 0);
    }
    assert_null(current_context());
    caller->rung = fresh_context("cuda", caller_verbose);
    assert_ok(rung_device_wrap(caller->rung, "cuda", caller->context, NULL, &caller->device));
    assert_ok(rung_queue_wrap(caller->device, caller->stream, &caller->queue));
}

/* All that was the caller's must still be there to be destroyed. */
static void close_caller(cuda_caller_t *caller)
{
    rung_queue_destroy(caller->queue);
    rung_device_close(caller->device);
    assert_none_held(caller->rung);
    rung_context_destroy(caller->rung);
    assert_int_equal(emulated_driver.set_current(caller->context), 0);
    assert_int_equal(caller->cu.StreamSynchronize(caller->stream), 0);
    assert_int_equal(caller->cu.MemFree(caller->memory), 0);
    assert_int_equal(caller->cu.EventDestroy(caller->event), 0);
    assert_int_equal(caller->cu.StreamDestroy(caller->stream), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    assert_int_equal(emulated_driver.destroy_context(caller->context), 0);
    assert_int_equal(emulated_driver.destroy_context(caller->other), 0);
    assert_nothing_lives();
}

/* ---- A product in the caller's memory ---------------------------------------------------------- */

enum { M = 5, N = 6, K = 7, A_AT = 64, B_AT = 1024, C_AT = 2048 };

typedef struct wrapped_product {
    float a_data[M * K], b_data[K * N], c_data[M * N];
    rung_matrix a, b, c;
    rung_buffer *buffers[3]; /* each somewhere inside the caller's allocation */
    rung_problem problem;
} wrapped_product_t;

static void make_product(cuda_caller_t *caller, wrapped_product_t *product)
{
    static const int64_t places[] = {A_AT, B_AT, C_AT};
    uint64_t seed = 8;
    unit_fill(&seed, product->a_data, M * K);
    unit_fill(&seed, product->b_data, K * N);
    product->a = rung_matrix_of(RUNG_F32, M, K, product->a_data);
    product->b = rung_matrix_of(RUNG_F32, K, N, product->b_data);
    product->c = rung_matrix_of(RUNG_F32, M, N, product->c_data);
    for (int i = 0; i < 3; i++) /* an interior pointer, and an offset from it */
        assert_ok(rung_buffer_wrap(caller->device,
                                   (void *)(uintptr_t)(caller->memory + (rungi_cu_pointer)places[i] - 16), 16, 512,
                                   &product->buffers[i]));
    product->problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, M, K, product->buffers[0], 1),
                                       rung_matrix_in_buffer(RUNG_F32, K, N, product->buffers[1], 2),
                                       rung_matrix_in_buffer(RUNG_F32, M, N, product->buffers[2], 3));
}

static void send_product(cuda_caller_t *caller, wrapped_product_t *product)
{
    assert_ok(rung_buffer_write(caller->queue, product->buffers[0], 4, sizeof product->a_data, product->a_data, NULL));
    assert_ok(rung_buffer_write(caller->queue, product->buffers[1], 8, sizeof product->b_data, product->b_data, NULL));
}

/* By the caller's own hand, from its own allocation. */
static void check_product(cuda_caller_t *caller, wrapped_product_t *product)
{
    memset(product->c_data, 0, sizeof product->c_data);
    assert_int_equal(emulated_driver.set_current(caller->context), 0);
    assert_int_equal(
        caller->cu.MemcpyDtoHAsync(product->c_data, caller->memory + C_AT + 12, sizeof product->c_data, caller->stream),
        0);
    assert_int_equal(caller->cu.StreamSynchronize(caller->stream), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    assert_int_equal(unit_first_wrong(&product->a, &product->b, &product->c), -1);
}

static void destroy_product(wrapped_product_t *product)
{
    for (int i = 0; i < 3; i++)
        rung_buffer_destroy(product->buffers[i]);
}

/* ---- Used, and not destroyed --------------------------------------------------------------------- */

static void the_caller_s_objects_are_used(void **state)
{
    cuda_caller_t caller;
    wrapped_product_t product;
    rung_event *done;
    rung_plan *plan;
    int64_t time = 0;
    (void)state;
    open_caller(&caller);
    make_product(&caller, &product);
    assert_ptr_equal(rung_queue_native(caller.queue), caller.stream);
    assert_ptr_equal(rung_buffer_native(product.buffers[0]), (void *)(uintptr_t)(caller.memory + A_AT - 16));
    assert_ok(rung_event_wrap(caller.device, caller.event, &done));
    assert_ptr_equal(rung_event_native(done), caller.event);
    send_product(&caller, &product);
    assert_ok(rung_plan_create(caller.device, &product.problem, NULL, &plan));
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = done};
    assert_ok(rung_plan_run(plan, caller.queue, &product.problem, &run));
    assert_int_equal(emulated_driver.set_current(caller.context), 0);
    assert_int_equal(caller.cu.EventSynchronize(caller.event), 0); /* recorded behind the work */
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    check_product(&caller, &product);
    assert_ok(rung_event_time(done, &time));
    assert_true(time > 0);
    rung_event_destroy(done);
    rung_plan_destroy(plan);
    destroy_product(&product);
    close_caller(&caller);
}

/* Whether the caller's event was recorded since it was last looked at: an event of its own,
 * recorded in between, is before it or not. */
static bool is_after(cuda_caller_t *caller, rungi_cu_event mark)
{
    float milliseconds = -1;
    assert_int_equal(emulated_driver.set_current(caller->context), 0);
    assert_int_equal(caller->cu.StreamSynchronize(caller->stream), 0);
    rungi_cu_result error = caller->cu.EventElapsedTime(&milliseconds, mark, caller->event);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    return error == 0 && milliseconds > 0;
}

static rungi_cu_event record_marker(cuda_caller_t *caller, rungi_cu_event mark)
{
    assert_int_equal(emulated_driver.set_current(caller->context), 0);
    if (!mark)
        assert_int_equal(caller->cu.EventCreate(&mark, 0), 0);
    assert_int_equal(caller->cu.EventRecord(mark, caller->stream), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    return mark;
}

/* Signalled again and again, logged or not, it is the caller's event that is recorded. */
static void check_signals(int verbose)
{
    cuda_caller_t caller;
    wrapped_product_t product;
    rung_event *done;
    rung_plan *plan;
    rungi_cu_event mark = NULL;
    open_caller(&caller);
    caller.rung->logger.verbose = verbose;
    make_product(&caller, &product);
    send_product(&caller, &product);
    assert_ok(rung_event_wrap(caller.device, caller.event, &done));
    assert_ok(rung_plan_create(caller.device, &product.problem, NULL, &plan));
    for (int i = 0; i < 3; i++) {
        int64_t time = 0;
        rung_run_options run = {.size = sizeof(rung_run_options), .signal = done};
        mark = record_marker(&caller, mark);
        assert_ok(rung_plan_run(plan, caller.queue, &product.problem, &run));
        assert_ptr_equal(rung_event_native(done), caller.event);
        assert_true(is_after(&caller, mark));
        assert_ok(rung_event_time(done, &time));
        assert_true(time > 0);
    }
    rung_event_destroy(done);
    rung_plan_destroy(plan);
    destroy_product(&product);
    assert_ok(rung_queue_finish(caller.queue));
    if (verbose > 0)
        assert_non_null(strstr(logged, " ms"));
    assert_int_equal(emulated_driver.set_current(caller.context), 0);
    assert_int_equal(caller.cu.EventDestroy(mark), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    close_caller(&caller);
}

static void the_caller_s_event_is_recorded(void **state)
{
    (void)state;
    check_signals(-1);
}

static void the_caller_s_event_is_recorded_while_logged(void **state)
{
    (void)state;
    check_signals(1);
}

/* Of two events that stand for one piece of work the one that is signalled again leaves the
 * other as it was. */
static void a_recorded_event_is_not_changed(void **state)
{
    cuda_caller_t caller;
    rung_event *first, *second;
    rung_buffer *buffer;
    static char bytes[256];
    (void)state;
    open_caller(&caller);
    assert_ok(rung_buffer_create(caller.device, sizeof bytes, &buffer));
    assert_ok(rung_event_create(caller.device, &first));
    assert_ok(rung_event_create(caller.device, &second));
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = first};
    assert_ok(rung_buffer_write(caller.queue, buffer, 0, sizeof bytes, bytes, &run));
    assert_ok(rungi_cuda_event_copy(first, second));
    void *shared = rung_event_native(second);
    assert_ptr_equal(rung_event_native(first), shared);
    assert_ok(rung_buffer_write(caller.queue, buffer, 0, sizeof bytes, bytes, &run));
    assert_ptr_equal(rung_event_native(second), shared);
    assert_ptr_not_equal(rung_event_native(first), shared);
    rung_event_destroy(first);
    rung_event_destroy(second);
    rung_buffer_destroy(buffer);
    close_caller(&caller);
}

/* ---- Of another context -------------------------------------------------------------------------- */

/* The driver does not tell whose an event is before it is recorded. */
static void refuse_foreign_event(cuda_caller_t *caller, rung_device *foreign)
{
    rung_queue *queue;
    rung_event *event;
    rung_buffer *buffer;
    assert_ok(rung_queue_create(foreign, &queue));
    assert_ok(rung_buffer_create(foreign, 64, &buffer));
    assert_ok(rung_event_wrap(foreign, caller->event, &event));
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = event};
    assert_fails(rung_buffer_write(queue, buffer, 0, 4, &run, &run), RUNG_STATUS_INVALID,
                 "not a stream, event or memory of this CUcontext");
    rung_event_destroy(event);
    rung_buffer_destroy(buffer);
    rung_queue_destroy(queue);
}

static void what_is_of_another_context_is_refused(void **state)
{
    cuda_caller_t caller;
    rung_device *foreign;
    rung_queue *queue;
    rung_buffer *buffer;
    (void)state;
    open_caller(&caller);
    assert_ok(rung_device_wrap(caller.rung, "cuda", caller.other, NULL, &foreign));
    assert_fails(rung_queue_wrap(foreign, caller.stream, &queue), RUNG_STATUS_INVALID, "another CUcontext");
    assert_null(queue);
    void *memory = (void *)(uintptr_t)caller.memory;
    assert_int_not_equal(rung_buffer_wrap(foreign, memory, 0, 64, &buffer), RUNG_OK);
    assert_non_null(strstr(rung_error_text(), "not point to memory of this CUcontext"));
    assert_null(buffer);
    assert_fails(rung_buffer_wrap(caller.device, memory, 0, MEMORY + 1, &buffer), RUNG_STATUS_INVALID, "4096 bytes");
    /* A whole allocation is enough: what lies behind it does not matter. */
    long queries = emulated_driver.calls("cuMemGetAddressRange_v2");
    assert_ok(rung_buffer_wrap(caller.device, memory, 0, MEMORY, &buffer));
    assert_int_equal(emulated_driver.calls("cuMemGetAddressRange_v2"), queries + 1);
    rung_buffer_destroy(buffer);
    assert_fails(rung_buffer_wrap(caller.device, memory, MEMORY, 1, &buffer), RUNG_STATUS_INVALID, "4096 bytes");
    assert_int_not_equal(rung_queue_wrap(caller.device, memory, &queue), RUNG_OK); /* no stream at all */
    assert_null(queue);
    refuse_foreign_event(&caller, foreign);
    rung_device_close(foreign);
    assert_fails(rung_device_wrap(caller.rung, "cuda", memory, NULL, &foreign), RUNG_STATUS_INVALID,
                 "CUDA_ERROR_INVALID_CONTEXT");
    assert_null(foreign);
    close_caller(&caller);
}

/* ---- The current context ---------------------------------------------------------------------------- */

static void *expected_current;

#define CURRENT_UNCHANGED(call)                                            \
    do {                                                                   \
        call;                                                              \
        if (current_context() != expected_current)                         \
            fail_msg("the current context is not what it was: %s", #call); \
    } while (0)

static void run_all_calls(cuda_caller_t *caller)
{
    static char bytes[512];
    static float data[3][16];
    wrapped_product_t product;
    rung_device *device;
    rung_queue *queue;
    rung_event *event, *wrapped;
    rung_buffer *buffer;
    rung_plan *plan;
    rung_device_list *devices;
    rung_dependency_list *dependencies;
    int64_t time;
    CURRENT_UNCHANGED(make_product(caller, &product));
    CURRENT_UNCHANGED(assert_ok(rung_device_list_create(caller->rung, &devices)));
    CURRENT_UNCHANGED(rung_device_list_destroy(devices));
    CURRENT_UNCHANGED(assert_ok(rung_dependency_list_create(caller->rung, &dependencies)));
    CURRENT_UNCHANGED(rung_dependency_list_destroy(dependencies));
    CURRENT_UNCHANGED(assert_ok(rung_device_open(caller->rung, "cuda", &device)));
    CURRENT_UNCHANGED(assert_ok(rung_queue_create(device, &queue)));
    CURRENT_UNCHANGED(rung_queue_destroy(queue));
    CURRENT_UNCHANGED(rung_device_close(device));
    CURRENT_UNCHANGED(assert_ok(rung_event_create(caller->device, &event)));
    CURRENT_UNCHANGED(assert_ok(rung_event_wrap(caller->device, caller->event, &wrapped)));
    CURRENT_UNCHANGED(assert_ok(rung_buffer_create(caller->device, sizeof bytes, &buffer)));
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = event},
                     next = {.size = sizeof(rung_run_options), .wait = &event, .wait_count = 1, .signal = wrapped};
    CURRENT_UNCHANGED(assert_ok(rung_buffer_write(caller->queue, buffer, 0, sizeof bytes, bytes, &run)));
    CURRENT_UNCHANGED(assert_ok(rung_buffer_read(caller->queue, buffer, 0, sizeof bytes, bytes, &next)));
    CURRENT_UNCHANGED(assert_ok(rung_queue_finish(caller->queue)));
    CURRENT_UNCHANGED(assert_ok(rung_event_wait(event)));
    CURRENT_UNCHANGED(assert_ok(rung_event_time(event, &time)));
    CURRENT_UNCHANGED(assert_ok(rung_plan_create(caller->device, &product.problem, NULL, &plan)));
    CURRENT_UNCHANGED(assert_ok(rung_plan_run(plan, caller->queue, &product.problem, &run)));
    CURRENT_UNCHANGED(rung_plan_destroy(plan));
    CURRENT_UNCHANGED(rung_buffer_destroy(buffer));
    CURRENT_UNCHANGED(rung_event_destroy(wrapped));
    CURRENT_UNCHANGED(rung_event_destroy(event));
    CURRENT_UNCHANGED(destroy_product(&product));
    CURRENT_UNCHANGED(
        assert_ok(rung_gemm(caller->calls, 1.0, rung_matrix_of(RUNG_F32, 4, 4, data[0]),
                            rung_matrix_of(RUNG_F32, 4, 4, data[1]), 0.0, rung_matrix_of(RUNG_F32, 4, 4, data[2]))));
}

/* Each fails once, as every call may, and out comes the same current context. */
static void run_all_failing_calls(cuda_caller_t *caller)
{
    static char bytes[512];
    static float data[3][16];
    static const char *const broken[] = {
        "cuStreamCreate",
        "cuEventCreate",
        "cuMemAlloc_v2",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuModuleLoadDataEx",
        "cuModuleGetFunction",
        "cuFuncGetAttribute",
        "cuLaunchKernel",
        "cuEventRecord",
        "cuStreamWaitEvent",
        "cuStreamSynchronize",
        "cuEventSynchronize",
        "cuEventElapsedTime",
        "cuMemGetAddressRange_v2",
        "cuStreamGetCtx",
        "cuCtxGetDevice",
        "cuCtxPushCurrent_v2",
        "cuDevicePrimaryCtxRetain",
        "cuDeviceGetCount",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char fault[64];
        rung_device *device = NULL, *again = NULL;
        rung_queue *queue = NULL, *wrapped_queue = NULL;
        rung_event *event = NULL;
        rung_buffer *buffer = NULL, *wrapped = NULL;
        int64_t time;
        snprintf(fault, sizeof fault, "%s:*:2", broken[i]);
        setenv("RUNG_EMULATED_FAULT", fault, 1);
        CURRENT_UNCHANGED(rung_device_open(caller->rung, "cuda", &device));
        CURRENT_UNCHANGED(rung_device_wrap(caller->rung, "cuda", caller->context, NULL, &again));
        CURRENT_UNCHANGED(rung_queue_create(caller->device, &queue));
        CURRENT_UNCHANGED(rung_queue_wrap(caller->device, caller->stream, &wrapped_queue));
        CURRENT_UNCHANGED(rung_event_create(caller->device, &event));
        CURRENT_UNCHANGED(rung_buffer_create(caller->device, sizeof bytes, &buffer));
        CURRENT_UNCHANGED(rung_buffer_wrap(caller->device, (void *)(uintptr_t)caller->memory, 0, 64, &wrapped));
        rung_run_options run = {
            .size = sizeof(rung_run_options), .wait = &event, .wait_count = event != NULL, .signal = event};
        if (buffer) {
            CURRENT_UNCHANGED(rung_buffer_write(caller->queue, buffer, 0, sizeof bytes, bytes, &run));
            CURRENT_UNCHANGED(rung_buffer_read(caller->queue, buffer, 0, sizeof bytes, bytes, &run));
        }
        if (event) {
            CURRENT_UNCHANGED(rung_event_wait(event));
            CURRENT_UNCHANGED(rung_event_time(event, &time));
        }
        CURRENT_UNCHANGED(rung_queue_finish(caller->queue));
        CURRENT_UNCHANGED(rung_gemm(caller->calls, 1.0, rung_matrix_of(RUNG_F32, 4, 4, data[0]),
                                    rung_matrix_of(RUNG_F32, 4, 4, data[1]), 0.0,
                                    rung_matrix_of(RUNG_F32, 4, 4, data[2])));
        emulated_driver_clear_faults();
        CURRENT_UNCHANGED(rung_buffer_destroy(wrapped));
        CURRENT_UNCHANGED(rung_buffer_destroy(buffer));
        CURRENT_UNCHANGED(rung_event_destroy(event));
        CURRENT_UNCHANGED(rung_queue_destroy(wrapped_queue));
        CURRENT_UNCHANGED(rung_queue_destroy(queue));
        CURRENT_UNCHANGED(rung_device_close(again));
        CURRENT_UNCHANGED(rung_device_close(device));
    }
}

static void the_current_context_stays(void **state)
{
    cuda_caller_t caller;
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_caller(&caller);
        caller.calls = fresh_context("cuda", -1);
        expected_current = i == 0 ? NULL : caller.other;
        assert_int_equal(emulated_driver.set_current(expected_current), 0);
        run_all_calls(&caller);
        run_all_failing_calls(&caller);
        CURRENT_UNCHANGED(rung_context_destroy(caller.calls));
        CURRENT_UNCHANGED(rung_queue_destroy(caller.queue));
        CURRENT_UNCHANGED(rung_device_close(caller.device));
        caller.queue = NULL;
        caller.device = NULL;
        assert_int_equal(emulated_driver.set_current(NULL), 0);
        close_caller(&caller);
    }
}

/* ---- Graphs -------------------------------------------------------------------------------------------- */

/* Calls of all that a run might make, launches apart. */
static long other_calls(void)
{
    static const char *const symbols[] = {
#define X(name, symbol, since, arguments) #symbol,
        RUNGI_CU_FUNCTION_LIST(X)
#undef X
    };
    long calls = 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (strcmp(symbols[i], "cuLaunchKernel") != 0 && !strstr(symbols[i], "cuCtxP")) /* push and pop */
            calls += emulated_driver.calls(symbols[i]);
    return calls;
}

static void *capture(cuda_caller_t *caller, rung_plan *plan, const rung_problem *problem, const rung_run_options *run)
{
    void *graph = NULL, *exec = NULL;
    assert_int_equal(emulated_driver.set_current(caller->context), 0);
    assert_int_equal(caller->begin_capture(caller->stream, 0), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    long before = other_calls(), launches = emulated_driver.calls("cuLaunchKernel");
    assert_ok(rung_plan_run(plan, caller->queue, problem, run));
    assert_int_equal(other_calls(), before);
    assert_true(emulated_driver.calls("cuLaunchKernel") > launches);
    assert_int_equal(emulated_driver.set_current(caller->context), 0);
    assert_int_equal(caller->end_capture(caller->stream, &graph), 0);
    assert_int_equal(caller->instantiate(&exec, graph, 0), 0);
    assert_int_equal(caller->destroy_graph(graph), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    return exec;
}

static void launch_graph(cuda_caller_t *caller, void *exec)
{
    assert_int_equal(emulated_driver.set_current(caller->context), 0);
    assert_int_equal(caller->launch(exec, caller->stream), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
}

static void a_plan_in_a_graph(void **state)
{
    cuda_caller_t caller;
    wrapped_product_t product;
    rung_plan *plan;
    (void)state;
    open_caller(&caller);
    make_product(&caller, &product);
    assert_ok(rung_plan_create(caller.device, &product.problem, NULL, &plan));
    void *exec = capture(&caller, plan, &product.problem, NULL);
    for (int i = 0; i < 3; i++) { /* with other numbers each time */
        uint64_t seed = (uint64_t)i;
        unit_fill(&seed, product.a_data, M * K);
        send_product(&caller, &product);
        launch_graph(&caller, exec);
        check_product(&caller, &product);
    }
    assert_int_equal(caller.destroy_exec(exec), 0);
    rung_plan_destroy(plan);
    destroy_product(&product);
    close_caller(&caller);
}

/* k cut in two: two launches, and a workspace between them. */
static void a_split_k_plan_in_a_graph(void **state)
{
    cuda_caller_t caller;
    rung_plan *plan;
    static cuda_product_memory_t memory;
    const cuda_product_t trial = {RUNG_F32,  RUNG_F32,       20,         24, 100, .batch = 1, .alpha = 1,
                                  .beta = 0, .kernel = "10", .splits = 2};
    (void)state;
    open_caller(&caller);
    cuda_product_fill(&trial, &memory);
    cuda_product_upload(caller.device, caller.queue, &memory);
    rung_problem there = cuda_product_in_buffers(&memory);
    assert_ok(cuda_product_plan(caller.device, &trial, &there, &plan));
    rung_run_options run = {.size = sizeof(rung_run_options)};
    assert_ok(rung_buffer_create(caller.device, rung_plan_describe(plan)->workspace_bytes, &run.workspace));
    void *exec = capture(&caller, plan, &there, &run);
    for (int i = 0; i < 2; i++) {
        launch_graph(&caller, exec);
        cuda_product_compare(caller.queue, &memory);
    }
    assert_int_equal(caller.destroy_exec(exec), 0);
    rung_plan_destroy(plan);
    rung_buffer_destroy(run.workspace);
    for (int i = 0; i < CUDA_PRODUCT_OPERANDS; i++)
        rung_buffer_destroy(memory.buffers[i]);
    close_caller(&caller);
}

/* Asking for the events of a captured run would end the capture: it is not logged. */
static void logged_plans_in_a_graph(void **state)
{
    cuda_caller_t caller;
    wrapped_product_t product;
    rung_plan *plan;
    void *graph = NULL;
    (void)state;
    caller_verbose = 1;
    open_caller(&caller);
    caller_verbose = -1;
    make_product(&caller, &product);
    assert_ok(rung_plan_create(caller.device, &product.problem, NULL, &plan));
    assert_int_equal(emulated_driver.set_current(caller.context), 0);
    assert_int_equal(caller.begin_capture(caller.stream, 0), 0);
    for (int i = 0; i < 3; i++)
        assert_ok(rung_plan_run(plan, caller.queue, &product.problem, NULL));
    assert_int_equal(caller.end_capture(caller.stream, &graph), 0);
    assert_int_equal(caller.destroy_graph(graph), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    send_product(&caller, &product); /* and one outside is */
    assert_ok(rung_plan_run(plan, caller.queue, &product.problem, NULL));
    check_product(&caller, &product);
    rung_plan_destroy(plan);
    destroy_product(&product);
    close_caller(&caller);
}

/* ---- What is no multiple of an element -------------------------------------------------------------------- */

/* Neither the caller's address nor the offset is, but both together. */
static void addresses_between_elements(void **state)
{
    cuda_caller_t caller;
    wrapped_product_t product;
    rung_plan *plan;
    (void)state;
    open_caller(&caller);
    make_product(&caller, &product);
    for (int i = 0; i < 3; i++) {
        void *native = rung_buffer_native(product.buffers[i]);
        rung_buffer_destroy(product.buffers[i]);
        assert_ok(rung_buffer_wrap(caller.device, (char *)native + 2, 14, 512, &product.buffers[i]));
        assert_ptr_equal(rung_buffer_native(product.buffers[i]), (char *)native + 2);
    }
    product.problem.a.buffer = product.buffers[0];
    product.problem.b.buffer = product.buffers[1];
    product.problem.c.buffer = product.buffers[2];
    send_product(&caller, &product);
    assert_ok(rung_plan_create(caller.device, &product.problem, NULL, &plan));
    assert_ok(rung_plan_run(plan, caller.queue, &product.problem, NULL));
    check_product(&caller, &product);
    rung_plan_destroy(plan);
    destroy_product(&product);
    close_caller(&caller);
}

/* An error that costs nothing but the call: the device is not lost for it. */
static void invalid_arguments_keep_the_device_usable(void **state)
{
    cuda_caller_t caller;
    rung_event *event;
    (void)state;
    open_caller(&caller);
    assert_ok(rung_event_create(caller.device, &event));
    rung_run_options waits = {.size = sizeof(rung_run_options), .wait = &event, .wait_count = 1};
    static const char *const codes[] = {"902", "903", "904", "908", "909", "910", "302"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char fault[64];
        rung_buffer *buffer;
        snprintf(fault, sizeof fault, "cuStreamWaitEvent:1:%s", codes[i]);
        assert_ok(rung_buffer_create(caller.device, 64, &buffer));
        setenv("RUNG_EMULATED_FAULT", fault, 1);
        assert_fails(rung_buffer_write(caller.queue, buffer, 0, 4, codes, &waits), RUNG_STATUS_UNSUPPORTED,
                     "cuStreamWaitEvent");
        unsetenv("RUNG_EMULATED_FAULT");
        assert_ok(rung_buffer_write(caller.queue, buffer, 0, 4, codes, &waits));
        rung_buffer_destroy(buffer);
    }
    rung_event_destroy(event);
    close_caller(&caller);
}

/* ---- Streams and events of a special kind ------------------------------------------------------------------- */

static void stream_0_by_its_other_name(void **state)
{
    cuda_caller_t caller;
    rung_queue *queue;
    int number = 3, back = 0;
    rung_buffer *buffer;
    (void)state;
    open_caller(&caller);
    assert_fails(rung_queue_wrap(caller.device, NULL, &queue), RUNG_STATUS_INVALID, "CU_STREAM_LEGACY");
    assert_ok(rung_queue_wrap(caller.device, (void *)1, &queue));
    assert_ok(rung_buffer_create(caller.device, 4, &buffer));
    assert_ok(rung_buffer_write(queue, buffer, 0, 4, &number, NULL));
    assert_ok(rung_buffer_read(queue, buffer, 0, 4, &back, NULL));
    assert_ok(rung_queue_finish(queue));
    assert_int_equal(back, number);
    rung_queue_destroy(queue);
    rung_buffer_destroy(buffer);
    close_caller(&caller);
}

/* ---- Two devices ------------------------------------------------------------------------------------------ */

static void two_devices_side_by_side(void **state)
{
    const cuda_product_t trial = {RUNG_F32, RUNG_F32, 33, 30, 17, .batch = 1, .alpha = 1, .beta = 0, .kernel = "04"};
    rung_context *context = fresh_context("cuda", -1);
    rung_device *devices[2], *wrapped;
    rung_queue *queue;
    rung_buffer *buffer;
    rung_plan_info info;
    void *native;
    (void)state;
    setenv("RUNG_EMULATED_DEVICES", "2", 1);
    assert_ok(rung_device_open(context, "cuda:0", &devices[0]));
    assert_ok(rung_device_open(context, "cuda:1", &devices[1]));
    for (int i = 0; i < 4; i++)
        cuda_product_run(devices[i % 2], &trial, &info);
    assert_ok(rung_queue_create(devices[0], &queue));
    assert_ok(rung_buffer_create(devices[1], 64, &buffer));
    assert_fails(rung_buffer_write(queue, buffer, 0, 4, &info, NULL), RUNG_STATUS_INVALID, "another device");
    rung_buffer_destroy(buffer);
    rung_queue_destroy(queue);
    assert_int_equal(emulated_driver.create_context(&native, 0, 1), 0);
    assert_ok(rung_device_wrap(context, "cuda", native, NULL, &wrapped));
    assert_string_equal(rung_device_describe(wrapped)->name, "cuda:1"); /* as its context says */
    rung_device_close(wrapped);
    assert_int_equal(emulated_driver.destroy_context(native), 0);
    rung_device_close(devices[0]);
    rung_device_close(devices[1]);
    assert_none_held(context);
    rung_context_destroy(context);
    assert_nothing_lives();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_caller_s_objects_are_used, emulated_driver_reset),
        cmocka_unit_test_setup(the_caller_s_event_is_recorded, emulated_driver_reset),
        cmocka_unit_test_setup(the_caller_s_event_is_recorded_while_logged, emulated_driver_reset),
        cmocka_unit_test_setup(a_recorded_event_is_not_changed, emulated_driver_reset),
        cmocka_unit_test_setup(what_is_of_another_context_is_refused, emulated_driver_reset),
        cmocka_unit_test_setup(the_current_context_stays, emulated_driver_reset),
        cmocka_unit_test_setup(a_plan_in_a_graph, emulated_driver_reset),
        cmocka_unit_test_setup(a_split_k_plan_in_a_graph, emulated_driver_reset),
        cmocka_unit_test_setup(logged_plans_in_a_graph, emulated_driver_reset),
        cmocka_unit_test_setup(addresses_between_elements, emulated_driver_reset),
        cmocka_unit_test_setup(invalid_arguments_keep_the_device_usable, emulated_driver_reset),
        cmocka_unit_test_setup(stream_0_by_its_other_name, emulated_driver_reset),
        cmocka_unit_test_setup(two_devices_side_by_side, emulated_driver_reset),
    };
    unit_clean_environment();
    if (!emulated_driver_is_loaded())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
