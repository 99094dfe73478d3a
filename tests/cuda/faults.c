/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - a driver of which each function fails in turn: the status, the driver's own name
 * for the error in the sentence, nothing left behind, and work as before once it is well
 * again. */
#include "device_session.h"

/* After the end, healthy again: nothing is held, and a whole life goes well. */
static void check_recovery(device_session_t *life, const char *kernel)
{
    bool loaded = rungi_cuda_live_objects(life->context, RUNGI_CU_CONTEXT) >= 0;
    if (loaded)
        assert_none_held(life->context);
    rung_context_destroy(life->context);
    assert_nothing_lives();
    session_begin(life);
    assert_ok(session_run_all(life, kernel));
    assert_true(session_is_right(life));
    session_end(life);
    assert_none_held(life->context);
    rung_context_destroy(life->context);
    assert_nothing_lives();
}

/* ---- One fault each -------------------------------------------------------------------------- */

typedef struct cuda_failure {
    const char *symbol;
    int nth, code;
    rung_status expected;
    const char *told; /* beside the driver's name for the code */
    const char *kernel;
} cuda_failure_t;

static const cuda_failure_t failures[] = {
    {"cuInit", EVERY_CALL, 100, RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "10"},
    {"cuInit", EVERY_CALL, 3, RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_NOT_INITIALIZED", "10"},
    {"cuInit", EVERY_CALL, 803, RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "10"},
    {"cuInit", EVERY_CALL, 34, RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_STUB_LIBRARY", "10"},
    {"cuInit", EVERY_CALL, 802, RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_SYSTEM_NOT_READY", "10"},
    {"cuDriverGetVersion", EVERY_CALL, 999, RUNG_STATUS_DEVICE_LOST, "CUDA_ERROR_UNKNOWN", "10"},
    {"cuDeviceGetCount", EVERY_CALL, 100, RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "10"},
    {"cuDeviceGet", EVERY_CALL, 101, RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "10"},
    {"cuDevicePrimaryCtxRetain", 1, 2, RUNG_STATUS_NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuDevicePrimaryCtxRetain", 1, 46, RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "10"},
    {"cuCtxPushCurrent_v2", 1, 201, RUNG_STATUS_INVALID, "CUDA_ERROR_INVALID_CONTEXT", "10"},
    {"cuCtxPushCurrent_v2", 9, 201, RUNG_STATUS_INVALID, "CUDA_ERROR_INVALID_CONTEXT", "10"},
    {"cuStreamCreate", 1, 2, RUNG_STATUS_NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuEventCreate", 1, 2, RUNG_STATUS_NO_MEMORY, "cuEventCreate: CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuEventCreate", 4, 2, RUNG_STATUS_NO_MEMORY, "cuEventCreate: CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuMemAlloc_v2", 1, 2, RUNG_STATUS_NO_MEMORY, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuMemAlloc_v2", 3, 2, RUNG_STATUS_NO_MEMORY, "4096 bytes on cuda:0", "10"},
    {"cuMemAllocAsync", 1, 2, RUNG_STATUS_NO_MEMORY, "cuMemAllocAsync: CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuMemHostAlloc", 1, 2, RUNG_STATUS_NO_MEMORY, "cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuMemcpyHtoDAsync_v2", 1, 1, RUNG_STATUS_INVALID, "cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE", "10"},
    {"cuMemcpyHtoDAsync_v2", 2, 700, RUNG_STATUS_DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS", "10"},
    {"cuMemcpyDtoHAsync_v2", 1, 1, RUNG_STATUS_INVALID, "cuMemcpyDtoHAsync: CUDA_ERROR_INVALID_VALUE", "10"},
    {"cuModuleLoadDataEx", EVERY_CALL, 2, RUNG_STATUS_NO_MEMORY, "cuModuleLoadDataEx: CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuModuleLoadDataEx", EVERY_CALL, 200, RUNG_STATUS_COMPILE_FAILED, "CUDA_ERROR_INVALID_IMAGE", "10"},
    {"cuModuleLoadDataEx", EVERY_CALL, 209, RUNG_STATUS_COMPILE_FAILED, "CUDA_ERROR_NO_BINARY_FOR_GPU", "10"},
    {"cuModuleLoadDataEx", EVERY_CALL, 218, RUNG_STATUS_COMPILE_FAILED, "CUDA_ERROR_INVALID_PTX", "08"},
    {"cuModuleLoadDataEx", EVERY_CALL, 221, RUNG_STATUS_COMPILE_FAILED, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "08"},
    {"cuModuleLoadDataEx", EVERY_CALL, 222, RUNG_STATUS_COMPILE_FAILED, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "08"},
    {"cuModuleLoadDataEx", EVERY_CALL, 223, RUNG_STATUS_COMPILE_FAILED, "unset CUDA_DISABLE_PTX_JIT", "08"},
    {"cuModuleLoadDataEx", 1, 719, RUNG_STATUS_DEVICE_LOST, "CUDA_ERROR_LAUNCH_FAILED", "10"},
    {"cuModuleGetFunction", 1, 500, RUNG_STATUS_COMPILE_FAILED, "CUDA_ERROR_NOT_FOUND", "10"},
    {"cuModuleGetFunction", 2, 500, RUNG_STATUS_COMPILE_FAILED, "CUDA_ERROR_NOT_FOUND", "10"},
    {"cuFuncSetAttribute", 1, 1, RUNG_STATUS_INVALID, "cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE", "10"},
    {"cuFuncGetAttribute", 1, 400, RUNG_STATUS_INVALID, "cuFuncGetAttribute: CUDA_ERROR_INVALID_HANDLE", "10"},
    {"cuFuncGetAttribute", 4, 400, RUNG_STATUS_INVALID, "cuFuncGetAttribute: CUDA_ERROR_INVALID_HANDLE", "10"},
    {"cuEventRecord", 1, 400, RUNG_STATUS_INVALID, "cuEventRecord: CUDA_ERROR_INVALID_HANDLE", "10"},
    {"cuEventRecord", 4, 2, RUNG_STATUS_NO_MEMORY, "cuEventRecord: CUDA_ERROR_OUT_OF_MEMORY", "10"},
    {"cuStreamWaitEvent", 1, 400, RUNG_STATUS_INVALID, "cuStreamWaitEvent: CUDA_ERROR_INVALID_HANDLE", "10"},
    {"cuLaunchKernel", 1, 701, RUNG_STATUS_UNSUPPORTED, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "10"},
    {"cuLaunchKernel", 2, 701, RUNG_STATUS_UNSUPPORTED, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "10"},
    {"cuLaunchKernel", 1, 719, RUNG_STATUS_DEVICE_LOST, "CUDA_ERROR_LAUNCH_FAILED", "10"},
    {"cuLaunchKernel", 2, 214, RUNG_STATUS_DEVICE_LOST, "CUDA_ERROR_ECC_UNCORRECTABLE", "10"},
    {"cuEventSynchronize", 1, 719, RUNG_STATUS_DEVICE_LOST, "cuEventSynchronize: CUDA_ERROR_LAUNCH_FAILED", "10"},
    {"cuEventElapsedTime", 1, 400, RUNG_STATUS_UNSUPPORTED, "cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE", "10"},
    {"cuStreamSynchronize", 1, 702, RUNG_STATUS_DEVICE_LOST, "CUDA_ERROR_LAUNCH_TIMEOUT", "10"},
    {"cublasCreate_v2", 1, 3, RUNG_STATUS_NO_MEMORY, "cublasCreate: out of memory", "00"},
    {"cublasCreate_v2", 1, 1, RUNG_STATUS_UNSUPPORTED, "cublasCreate failed with error 1", "00"},
    {"cublasSetStream_v2", 1, 1, RUNG_STATUS_UNSUPPORTED, "cublasSetStream failed with error 1", "00"},
    {"cublasGemmEx", 1, 3, RUNG_STATUS_NO_MEMORY, "cublasGemmEx: out of memory", "00"},
    {"cublasGemmEx", 1, 15, RUNG_STATUS_UNSUPPORTED, "it does not take this problem", "00"},
    {"cublasGemmEx", 1, 13, RUNG_STATUS_DEVICE_LOST, "open it again", "00"},
};

enum { FAILURES = sizeof failures / sizeof *failures };

/* Once lost, every call says so, whatever the driver would say now. */
static void assert_device_lost(device_session_t *life)
{
    static char bytes[64];
    rung_queue *queue;
    rung_event *event;
    rung_buffer *buffer;
    assert_fails(rung_queue_finish(life->queue), RUNG_STATUS_DEVICE_LOST, "lost before");
    assert_fails(rung_queue_create(life->device, &queue), RUNG_STATUS_DEVICE_LOST, "cuda:0");
    assert_fails(rung_event_create(life->device, &event), RUNG_STATUS_DEVICE_LOST, "open it again");
    assert_fails(rung_event_wait(life->sent), RUNG_STATUS_DEVICE_LOST, "lost before");
    assert_fails(rung_buffer_create(life->device, 64, &buffer), RUNG_STATUS_DEVICE_LOST, "lost before");
    assert_fails(rung_buffer_write(life->queue, life->buffers[0], 0, 64, bytes, NULL), RUNG_STATUS_DEVICE_LOST,
                 "lost before");
    assert_fails(rung_buffer_read(life->queue, life->buffers[0], 0, 64, bytes, NULL), RUNG_STATUS_DEVICE_LOST,
                 "lost before");
    assert_fails(session_run(life, "10"), RUNG_STATUS_DEVICE_LOST, "lost before");
}

static void check_failure(const cuda_failure_t *failure)
{
    device_session_t life;
    session_begin(&life);
    inject_fault("RUNG_EMULATED_FAULT", failure->symbol, failure->nth, failure->code);
    rung_status status = session_run_all(&life, failure->kernel);
    emulated_driver_clear_faults();
    if (status != failure->expected || !strstr(rung_error_text(), failure->told))
        fail_msg("%s %d, error %d gave %s: %s", failure->symbol, failure->nth, failure->code, rung_status_name(status),
                 rung_error_text());
    if (status == RUNG_STATUS_DEVICE_LOST && life.queue && life.sent)
        assert_device_lost(&life);
    session_end(&life);
    check_recovery(&life, failure->kernel);
}

static void each_function_fails(void **state)
{
    (void)state;
    for (int i = 0; i < FAILURES; i++)
        check_failure(&failures[i]);
}

/* An event is two events of the driver. If the second cannot be created, and the library cannot enter the CUcontext again, the
 * first is destroyed all the same. */
static void half_an_event_is_destroyed(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device;
    rung_event *event;
    (void)state;
    assert_ok(rung_device_open(context, "cuda", &device));
    setenv("RUNG_EMULATED_FAULT", "cuEventCreate:2:2,cuCtxPushCurrent_v2:2:201", 1);
    assert_fails(rung_event_create(device, &event), RUNG_STATUS_NO_MEMORY, "cuEventCreate");
    emulated_driver_clear_faults();
    assert_int_equal(emulated_driver.live("events"), 0);
    assert_ok(rung_event_create(device, &event));
    rung_event_destroy(event);
    rung_device_close(device);
    rung_context_destroy(context);
    assert_nothing_lives();
}

/* ---- Late and sticky --------------------------------------------------------------------------- */

/* The call goes well and the work does not; the next that waits is told. */
static void asynchronous_failures_are_reported(void **state)
{
    static const int codes[] = {719, 700, 702, 214, 714, 715, 716, 718, 220};
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        device_session_t life;
        session_begin(&life);
        inject_fault("RUNG_EMULATED_FAULT_ASYNC", "cuLaunchKernel", 1, codes[i]);
        assert_ok(make_objects(&life));
        assert_ok(make_ordered(&life));
        assert_ok(session_run(&life, "10"));
        assert_fails(session_wait(&life), RUNG_STATUS_DEVICE_LOST, "CUDA_ERROR_");
        emulated_driver_clear_faults();
        assert_device_lost(&life);
        session_end(&life);
        check_recovery(&life, "10");
    }
}

/* A device that was opened again works while the lost one is still held, as far as the
 * driver goes: here with a context of its own. */
static void other_contexts_keep_working(void **state)
{
    device_session_t life;
    rung_device *other;
    rung_plan_info info;
    void *native;
    const cuda_product_t trial = {RUNG_F32, RUNG_F32, 33, 30, 17, .batch = 1, .alpha = 1, .beta = 0, .kernel = "04"};
    (void)state;
    session_begin(&life);
    inject_fault("RUNG_EMULATED_FAULT", "cuLaunchKernel", 1, 719);
    assert_int_equal(session_run_all(&life, "10"), RUNG_STATUS_DEVICE_LOST);
    emulated_driver_clear_faults();
    assert_int_equal(emulated_driver.create_context(&native, 0, 0), 0);
    assert_int_equal(emulated_driver.set_current(NULL), 0);
    assert_ok(rung_device_wrap(life.context, "cuda", native, NULL, &other));
    cuda_product_run(other, &trial, &info);
    assert_device_lost(&life);
    rung_device_close(other);
    assert_int_equal(emulated_driver.destroy_context(native), 0);
    session_end(&life);
    check_recovery(&life, "10");
}

/* One call after a lost device opens it again by itself. */
static void rung_multiply_recovers(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    static float a[16], b[16], c[16];
    rung_matrix av = rung_matrix_of(RUNG_F32, 4, 4, a), bv = rung_matrix_of(RUNG_F32, 4, 4, b);
    rung_matrix cv = rung_matrix_of(RUNG_F32, 4, 4, c);
    uint64_t seed = 2;
    (void)state;
    unit_fill(&seed, a, 16);
    unit_fill(&seed, b, 16);
    for (int i = 0; i < 3; i++) {
        inject_fault(i == 1 ? "RUNG_EMULATED_FAULT_ASYNC" : "RUNG_EMULATED_FAULT", "cuLaunchKernel", 1, 700);
        assert_fails(rung_gemm(context, 1.0, av, bv, 0.0, cv), RUNG_STATUS_DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS");
        emulated_driver_clear_faults();
        assert_ok(rung_gemm(context, 1.0, av, bv, 0.0, cv));
        assert_int_equal(unit_first_wrong(&av, &bv, &cv), -1);
    }
    rung_context_destroy(context);
    assert_nothing_lives();
}

/* ---- Drivers of another kind ---------------------------------------------------------------------- */

static void drivers_too_old(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device;
    (void)state;
    setenv("RUNG_EMULATED_DRIVER_VERSION", "11040", 1);
    assert_fails(rung_device_open(context, "cuda", &device), RUNG_STATUS_NO_DEVICE, "CUDA 11.4");
    assert_non_null(strstr(rung_error_text(), "525"));
    rung_context_destroy(context); /* which keeps what it found */
    context = fresh_context("cuda", -1);
    setenv("RUNG_EMULATED_DRIVER_VERSION", "12000", 1);
    assert_ok(rung_device_open(context, "cuda", &device));
    rung_device_close(device);
    rung_context_destroy(context);
    assert_nothing_lives();
}

static void no_device_at_all(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    rung_device_list *list;
    rung_device *device;
    bool told = false;
    (void)state;
    setenv("RUNG_EMULATED_DEVICES", "0", 1);
    assert_fails(rung_device_open(context, "cuda", &device), RUNG_STATUS_NO_DEVICE, "CUDA_ERROR_NO_DEVICE");
    assert_ok(rung_device_list_create(context, &list));
    for (int64_t i = 0; i < rung_device_list_count(list); i++) {
        const rung_device_info *info = rung_device_list_at(list, i);
        told = told || (strcmp(info->backend, "cuda") == 0 && strstr(info->missing, "nvidia-smi"));
    }
    rung_device_list_destroy(list);
    assert_true(told);
    rung_context_destroy(context);
}

/* Without memory pools it is cuMemAlloc that makes memory for a queue. */
static void devices_without_pools(void **state)
{
    device_session_t life;
    (void)state;
    setenv("RUNG_EMULATED_POOLS", "0", 1);
    session_begin(&life);
    long before = emulated_driver.calls("cuMemAllocAsync");
    assert_ok(session_run_all(&life, "10"));
    assert_int_equal(emulated_driver.calls("cuMemAllocAsync"), before);
    assert_true(session_is_right(&life));
    session_end(&life);
    check_recovery(&life, "10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_function_fails, emulated_driver_reset),
        cmocka_unit_test_setup(half_an_event_is_destroyed, emulated_driver_reset),
        cmocka_unit_test_setup(asynchronous_failures_are_reported, emulated_driver_reset),
        cmocka_unit_test_setup(other_contexts_keep_working, emulated_driver_reset),
        cmocka_unit_test_setup(rung_multiply_recovers, emulated_driver_reset),
        cmocka_unit_test_setup(drivers_too_old, emulated_driver_reset),
        cmocka_unit_test_setup(no_device_at_all, emulated_driver_reset),
        cmocka_unit_test_setup(devices_without_pools, emulated_driver_reset),
    };
    unit_clean_environment();
    if (!emulated_driver_is_loaded())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
