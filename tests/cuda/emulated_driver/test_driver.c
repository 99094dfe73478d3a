/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver.c - the emulated driver keeps the driver's rules: contexts and their stack, order in
 * streams, memory, errors that are planted, errors that stay, and devices it poses as. */
#include "driver_unit.h"

#include "cuda/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Contexts ------------------------------------------------------------------------------------- */

static void nothing_works_before_init(void **state)
{
    int number = 0;
    CUcontext context;
    (void)state;
    assert_cuda(cuDeviceGetCount(&number), CUDA_ERROR_NOT_INITIALIZED);
    assert_cuda(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
    assert_cuda(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    assert_good(cuDriverGetVersion(&number));
    assert_int_equal(number, 12090);
    setenv("RUNG_EMULATED_DEVICES", "0", 1);
    assert_cuda(cuInit(0), CUDA_ERROR_NO_DEVICE);
    unsetenv("RUNG_EMULATED_DEVICES");
    assert_cuda(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    assert_good(cuInit(0));
    assert_good(cuDeviceGetCount(&number));
    assert_int_equal(number, 1);
    assert_cuda(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

/* Numbers that are invalid, out of range or followed by something else. */
static void invalid_settings_are_rejected(void **state)
{
    static const struct {
        const char *variable, *text;
    } cases[] = {{"RUNG_EMULATED_ARCH", "8.6"},
                 {"RUNG_EMULATED_ARCH", "sm_86"},
                 {"RUNG_EMULATED_ARCH", "19"},
                 {"RUNG_EMULATED_ARCH", "4294967382"}, /* 86 in 32 bits */
                 {"RUNG_EMULATED_DRIVER_VERSION", "12.9"},
                 {"RUNG_EMULATED_DRIVER_VERSION", "-12090"},
                 {"RUNG_EMULATED_DRIVER_VERSION", "99999999999999999999"},
                 {"RUNG_EMULATED_DEVICES", "-1"},
                 {"RUNG_EMULATED_DEVICES", "65"},
                 {"RUNG_EMULATED_POOLS", "no"},
                 {"RUNG_EMULATED_THREADS", "-1"},
                 {"RUNG_EMULATED_THREADS", "257"}};
    int number = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv(cases[i].variable, cases[i].text, 1);
        if (cuInit(0) != CUDA_ERROR_INVALID_VALUE)
            fail_msg("%s=%s is accepted", cases[i].variable, cases[i].text);
        assert_good(cuDriverGetVersion(&number));
        assert_int_equal(number, 12090); /* the default */
        unsetenv(cases[i].variable);
    }
    setenv("RUNG_EMULATED_THREADS", "", 1);
    assert_good(cuInit(0));
    unsetenv("RUNG_EMULATED_THREADS");
}

static void a_primary_context_is_counted(void **state)
{
    CUcontext one, two;
    CUdeviceptr memory;
    (void)state;
    assert_good(cuDevicePrimaryCtxRetain(&one, 0));
    assert_good(cuDevicePrimaryCtxRetain(&two, 0));
    assert_ptr_equal(one, two);
    assert_int_equal(rung_emulated_live_objects("contexts"), 1);
    assert_good(cuCtxPushCurrent_v2(one));
    assert_good(cuMemAlloc_v2(&memory, 64));
    assert_good(cuDevicePrimaryCtxRelease_v2(0));
    assert_int_equal(rung_emulated_live_objects("memory"), 1);
    assert_good(cuDevicePrimaryCtxRelease_v2(0));
    assert_nothing_lives(); /* what was made in it has gone with it */
    assert_cuda(cuMemAlloc_v2(&memory, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_cuda(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    assert_good(cuCtxPopCurrent_v2(&one));
    assert_cuda(cuCtxPopCurrent_v2(&one), CUDA_ERROR_INVALID_CONTEXT);
    assert_cuda(cuDevicePrimaryCtxRetain(&one, 1), CUDA_ERROR_INVALID_DEVICE);
}

static void contexts_form_a_stack(void **state)
{
    CUcontext primary = *state, made, now;
    CUdevice device = -1;
    assert_good(cuCtxCreate_v2(&made, 0, 0));
    assert_ptr_not_equal(made, primary);
    assert_good(cuCtxGetCurrent(&now));
    assert_ptr_equal(now, made);
    assert_good(cuCtxPushCurrent_v2(primary));
    assert_good(cuCtxGetDevice(&device));
    assert_int_equal(device, 0);
    assert_good(cuCtxPopCurrent_v2(&now));
    assert_ptr_equal(now, primary);
    assert_good(cuCtxSetCurrent(primary)); /* in the place of the one made */
    assert_good(cuCtxPopCurrent_v2(NULL));
    assert_good(cuCtxGetCurrent(&now));
    assert_ptr_equal(now, primary);
    assert_good(cuCtxDestroy_v2(made));
    assert_cuda(cuCtxDestroy_v2(made), CUDA_ERROR_INVALID_CONTEXT);
    assert_cuda(cuCtxPushCurrent_v2(made), CUDA_ERROR_INVALID_CONTEXT);
    assert_cuda(cuCtxDestroy_v2(primary), CUDA_ERROR_INVALID_CONTEXT);
}

static void objects_know_their_context(void **state)
{
    CUcontext made, of;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    (void)state;
    assert_good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_good(cuEventCreate(&event, 0));
    assert_good(cuMemAlloc_v2(&memory, 64));
    assert_good(cuCtxCreate_v2(&made, 0, 0));
    assert_cuda(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    assert_cuda(cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
    assert_cuda(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_cuda(cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
    assert_good(cuStreamGetCtx(stream, &of));
    assert_ptr_equal(of, *state);
    assert_good(cuStreamGetCtx(NULL, &of));
    assert_ptr_equal(of, made);
    assert_good(cuStreamWaitEvent(NULL, event, 0)); /* may be of any context */
    assert_good(cuCtxDestroy_v2(made));
    assert_good(cuStreamDestroy_v2(stream));
    assert_cuda(cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
    assert_good(cuEventDestroy_v2(event));
    assert_good(cuMemFree_v2(memory));
}

static void *look_in_thread(void *result)
{
    CUcontext now = (CUcontext)result;
    CUresult got = cuCtxGetCurrent(&now);
    *(CUresult *)result = got == CUDA_SUCCESS && !now ? cuCtxSynchronize() : CUDA_ERROR_UNKNOWN;
    return NULL;
}

static void a_thread_has_its_own_stack(void **state)
{
    pthread_t thread;
    CUresult result = CUDA_SUCCESS;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, look_in_thread, &result), 0);
    pthread_join(thread, NULL);
    assert_cuda(result, CUDA_ERROR_INVALID_CONTEXT);
}

static void a_child_has_no_driver(void **state)
{
    int status = 0;
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED && cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- Memory --------------------------------------------------------------------------------------- */

static void memory_is_by_pointer(void **state)
{
    CUdeviceptr memory, base = 0;
    size_t bytes = 0;
    int from[64], to[64] = {0};
    (void)state;
    for (int i = 0; i < 64; i++)
        from[i] = i * i;
    assert_good(cuMemAlloc_v2(&memory, sizeof from));
    assert_good(cuMemcpyHtoD_v2(memory, from, sizeof from));
    assert_good(cuMemcpyDtoH_v2(to, memory + 32 * sizeof(int), 32 * sizeof(int)));
    assert_memory_equal(to, from + 32, 32 * sizeof(int));
    assert_good(cuMemGetAddressRange_v2(&base, &bytes, memory + 17));
    assert_true(base == memory && bytes == sizeof from);
    assert_cuda(cuMemGetAddressRange_v2(&base, &bytes, memory + sizeof from), CUDA_ERROR_NOT_FOUND);
    assert_cuda(cuMemcpyHtoD_v2(memory + 4, from, sizeof from), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuMemAlloc_v2(&base, 0), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuMemAlloc_v2(&base, (size_t)1 << 45), CUDA_ERROR_OUT_OF_MEMORY);
    assert_cuda(cuMemFree_v2(memory + 4), CUDA_ERROR_INVALID_VALUE);
    assert_good(cuMemFree_v2(memory));
    assert_cuda(cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
}

static void pools_and_host_memory(void **state)
{
    static char plain[256];
    CUdeviceptr memory;
    CUstream stream;
    void *host;
    (void)state;
    assert_good(cuStreamCreate(&stream, 0));
    assert_good(cuMemHostAlloc(&host, 256, 0));
    memset(host, 7, 256);
    assert_good(cuMemAllocAsync(&memory, 256, stream));
    assert_good(cuMemcpyHtoDAsync_v2(memory, host, 256, stream));
    /* Other memory of the host is not on the device. */
    assert_cuda(cuMemcpyDtoHAsync_v2(host, (CUdeviceptr)(uintptr_t)plain, 256, stream), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)plain, host, 256, stream), CUDA_ERROR_INVALID_VALUE);
    assert_good(cuMemFreeAsync(memory, stream));
    assert_int_equal(rung_emulated_live_objects("memory"), 0);
    assert_cuda(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
    setenv("RUNG_EMULATED_POOLS", "0", 1);
    assert_cuda(cuMemAllocAsync(&memory, 256, stream), CUDA_ERROR_NOT_SUPPORTED);
    unsetenv("RUNG_EMULATED_POOLS");
    assert_int_equal(rung_emulated_live_objects("host_memory"), 1);
    assert_good(cuMemFreeHost(host));
    assert_good(cuStreamDestroy_v2(stream));
}

/* A pool counts what is allocated from it, and may be destroyed before its memory is freed. */
static void pools_count_their_memory(void **state)
{
    enum { BYTES = 4096 };
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUdeviceptr memory[2];
    CUmemoryPool pool;
    cuuint64_t used = 1;
    (void)state;
    assert_good(cuMemPoolCreate(&pool, &properties));
    assert_good(cuMemPoolGetAccess(&flags, pool, &properties.location));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    assert_cuda(cuMemPoolGetAccess(NULL, pool, &properties.location), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuMemPoolGetAccess(&flags, pool, NULL), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++)
        assert_good(cuMemAllocFromPoolAsync(&memory[i], BYTES, pool, NULL));
    assert_good(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 2 * BYTES);
    assert_good(cuMemFreeAsync(memory[0], NULL));
    assert_good(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, BYTES);
    assert_good(cuMemPoolDestroy(pool));
    flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    assert_cuda(cuMemPoolGetAccess(&flags, pool, &properties.location), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    assert_good(cuMemFreeAsync(memory[1], NULL));
    assert_good(cuStreamSynchronize(NULL));
}

/* ---- Streams and events --------------------------------------------------------------------------- */

static void events_follow_their_stream(void **state)
{
    CUstream stream;
    CUevent start, end, untimed;
    float milliseconds = -1;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_good(cuEventCreate(&start, 0));
    assert_good(cuEventCreate(&end, 0));
    assert_good(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    assert_good(cuEventQuery(end)); /* never recorded */
    assert_good(cuEventSynchronize(end));
    assert_good(cuEventRecord(start, stream));
    assert_cuda(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);
    keep_busy(&product, stream);
    assert_good(product_launch(&product, stream));
    assert_good(cuEventRecord(end, stream));
    assert_cuda(cuEventQuery(end), CUDA_ERROR_NOT_READY);
    assert_cuda(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
    assert_good(cuStreamWaitEvent(NULL, end, 0));
    assert_true(product_is_right(&product)); /* on the default stream, which waits */
    assert_good(cuEventSynchronize(end));
    assert_good(cuEventQuery(end));
    assert_good(cuEventElapsedTime(&milliseconds, start, end));
    assert_true(milliseconds > 0 && milliseconds < 1e5f);
    assert_good(cuEventRecord(untimed, stream));
    assert_good(cuStreamSynchronize(stream));
    assert_cuda(cuEventElapsedTime(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    assert_good(cuEventDestroy_v2(start));
    assert_good(cuEventDestroy_v2(end));
    assert_good(cuEventDestroy_v2(untimed));
    assert_good(cuStreamDestroy_v2(stream));
    product_end(&product);
}

/* Destroying a stream does not wait for it, freeing memory does. */
static void a_stream_may_be_destroyed_before_its_work_ends(void **state)
{
    CUstream stream;
    CUevent event;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(cuStreamCreate(&stream, 0));
    keep_busy(&product, stream);
    assert_good(product_launch(&product, stream));
    assert_good(cuEventCreate(&event, 0));
    assert_good(cuEventRecord(event, stream));
    assert_good(cuStreamDestroy_v2(stream));
    assert_good(cuEventSynchronize(event));
    assert_good(cuEventDestroy_v2(event));
    assert_true(product_is_right(&product));
    product_end(&product);
}

/* Freeing waits for whatever may still use the memory, in its stream's order or at once. */
static void memory_lives_until_its_work_is_done(void **state)
{
    CUstream stream;
    CUevent event;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_good(cuEventCreate(&event, 0));
    keep_busy(&product, stream);
    assert_good(product_launch(&product, stream));
    assert_good(cuEventRecord(event, stream));
    assert_good(cuMemFreeAsync(product.db, stream));
    assert_cuda(cuEventQuery(event), CUDA_ERROR_NOT_READY); /* which did not wait */
    assert_good(cuMemFree_v2(product.da));
    assert_good(cuEventQuery(event)); /* which did */
    assert_true(product_is_right(&product));
    assert_good(cuModuleUnload(product.module));
    assert_good(cuMemFree_v2(product.dc));
    assert_good(cuEventDestroy_v2(event));
    assert_good(cuStreamDestroy_v2(stream));
}

/* Threads that share a context and a function, each with its stream and memory. */
static void *multiply_in_thread(void *opaque)
{
    driver_product_t own = *(const driver_product_t *)opaque;
    CUcontext context;
    CUstream stream;
    bool good = cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS && cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
    void *arguments[] = {&own.m,  &own.n,  &own.k,    &own.alpha, &own.da, &own.va,
                         &own.db, &own.vb, &own.beta, &own.dc,    &own.vc};
    memcpy(own.arguments, arguments, sizeof arguments);
    for (int i = 0; i < 20 && good; i++) {
        good = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
               cuMemAlloc_v2(&own.dc, sizeof own.c) == CUDA_SUCCESS && product_launch(&own, stream) == CUDA_SUCCESS &&
               cuStreamSynchronize(stream) == CUDA_SUCCESS && product_is_right(&own) &&
               cuMemFree_v2(own.dc) == CUDA_SUCCESS && cuStreamDestroy_v2(stream) == CUDA_SUCCESS;
    }
    good = cuCtxPopCurrent_v2(NULL) == CUDA_SUCCESS && cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS && good;
    return good ? opaque : NULL;
}

static void threads_share_a_context(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    driver_product_t product;
    void *result;
    (void)state;
    product_begin(&product);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, multiply_in_thread, &product), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &product);
    }
    product_end(&product);
}

/* ---- Planted errors ------------------------------------------------------------------------------- */

static void injected_errors_hit_the_chosen_call(void **state)
{
    CUdeviceptr memory[3];
    (void)state;
    setenv("RUNG_EMULATED_FAULT", "cuMemAlloc_v2:2:2", 1);
    assert_good(cuMemAlloc_v2(&memory[0], 8));
    assert_cuda(cuMemAlloc_v2(&memory[1], 8), CUDA_ERROR_OUT_OF_MEMORY);
    assert_good(cuMemAlloc_v2(&memory[1], 8));
    assert_good(cuMemAlloc_v2(&memory[2], 8));
    setenv("RUNG_EMULATED_FAULT", "cuEventCreate:1:2,cuMemFree_v2:*:1", 1);
    assert_cuda(cuMemFree_v2(memory[0]), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuMemFree_v2(memory[0]), CUDA_ERROR_INVALID_VALUE);
    unsetenv("RUNG_EMULATED_FAULT");
    long calls = rung_emulated_call_count("cuMemFree_v2");
    for (int i = 0; i < 3; i++)
        assert_good(cuMemFree_v2(memory[i]));
    assert_int_equal(rung_emulated_call_count("cuMemFree_v2"), calls + 3);
    assert_int_equal(rung_emulated_call_count("cuNoSuchThing"), 0);
}

static void sticky_errors_stay(void **state)
{
    CUdeviceptr memory;
    CUcontext fresh;
    (void)state;
    assert_good(cuMemAlloc_v2(&memory, 8));
    setenv("RUNG_EMULATED_FAULT", "cuStreamSynchronize:1:719", 1);
    assert_cuda(cuStreamSynchronize(NULL), CUDA_ERROR_LAUNCH_FAILED);
    assert_cuda(cuStreamSynchronize(NULL), CUDA_ERROR_LAUNCH_FAILED);
    assert_cuda(cuMemFree_v2(memory), CUDA_ERROR_LAUNCH_FAILED);
    assert_cuda(cuMemAlloc_v2(&memory, 8), CUDA_ERROR_LAUNCH_FAILED);
    unsetenv("RUNG_EMULATED_FAULT");
    assert_cuda(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    assert_good(cuDevicePrimaryCtxRelease_v2(0)); /* and all is well again */
    assert_nothing_lives();
    assert_good(cuDevicePrimaryCtxRetain(&fresh, 0));
    assert_good(cuCtxSynchronize());
    assert_good(cuMemAlloc_v2(&memory, 8));
    assert_good(cuMemFree_v2(memory));
    setenv("RUNG_EMULATED_FAULT", "cuCtxSynchronize:1:701", 1); /* is not one of them */
    assert_cuda(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    assert_good(cuCtxSynchronize());
}

static void asynchronous_errors_appear_at_synchronization(void **state)
{
    CUdeviceptr memory;
    CUevent event;
    int number = 5;
    (void)state;
    assert_good(cuMemAlloc_v2(&memory, sizeof number));
    assert_good(cuEventCreate(&event, 0));
    setenv("RUNG_EMULATED_FAULT_ASYNC", "cuMemcpyHtoDAsync_v2:1:700", 1);
    assert_good(cuMemcpyHtoDAsync_v2(memory, &number, sizeof number, NULL));
    assert_good(cuEventRecord(event, NULL));
    assert_cuda(cuEventSynchronize(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_cuda(cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_cuda(cuMemFree_v2(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void errors_have_names(void **state)
{
    const char *text;
    (void)state;
    assert_good(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    assert_string_equal(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_good(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    assert_string_equal(text, "out of memory");
    assert_cuda(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    assert_null(text);
}

/* ---- Poses ---------------------------------------------------------------------------------------- */

static int attribute(CUdevice_attribute what)
{
    int value = -1;
    assert_good(cuDeviceGetAttribute(&value, what, 0));
    return value;
}

static void every_gpu_model_is_reported(void **state)
{
    static const int all[] = {60, 61, 70, 75, 80, 86, 89, 90, 100, 120, 130};
    char text[16], name[100];
    size_t bytes;
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(text, sizeof text, "%d", all[i]);
        setenv("RUNG_EMULATED_ARCH", text, 1);
        assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                             attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
                         all[i]);
        assert_true(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) > 20);
        assert_true(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) >= 49152);
        assert_good(cuDeviceGetName(name, sizeof name, 0));
        assert_good(cuDeviceTotalMem_v2(&bytes, 0));
        assert_true(bytes > (size_t)8 << 30 && *name);
    }
    unsetenv("RUNG_EMULATED_ARCH");
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), 6 << 20);
}

/* Has it or not, in libraries of the same name; each is a driver of its own. */
static bool has(const char *folder, const char *symbol)
{
    char path[1024];
    snprintf(path, sizeof path, TEST_EMULATED_DRIVER "/%s/libcuda.so.1", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    bool found = dlsym(library, symbol) != NULL;
    assert_non_null(dlsym(library, "cuInit"));
    assert_null(dlsym(library, "rung_gemm"));
    dlclose(library);
    return found;
}

static void drivers_that_lack_something(void **state)
{
    (void)state;
#define X(name, symbol, since, arguments) assert_true(has(".", #symbol));
    RUNGI_CU_FUNCTION_LIST(X)
#undef X
    assert_true(has(".", "cuMemAllocAsync") && has(".", "cuLaunchKernel"));
    assert_false(has("no_optional", "cuMemAllocAsync") || has("no_optional", "cuMemFreeAsync"));
    assert_true(has("no_optional", "cuLaunchKernel"));
    assert_false(has("no_required", "cuLaunchKernel"));
    assert_true(has("no_required", "cuMemFreeAsync"));
}

#define fresh(test) cmocka_unit_test_setup_teardown(test, driver_begin, driver_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_works_before_init),
        cmocka_unit_test(invalid_settings_are_rejected),
        cmocka_unit_test(a_primary_context_is_counted),
        fresh(contexts_form_a_stack),
        fresh(objects_know_their_context),
        fresh(a_thread_has_its_own_stack),
        fresh(a_child_has_no_driver),
        fresh(memory_is_by_pointer),
        fresh(pools_and_host_memory),
        fresh(pools_count_their_memory),
        fresh(events_follow_their_stream),
        fresh(a_stream_may_be_destroyed_before_its_work_ends),
        fresh(memory_lives_until_its_work_is_done),
        fresh(threads_share_a_context),
        fresh(injected_errors_hit_the_chosen_call),
        fresh(sticky_errors_stay),
        fresh(asynchronous_errors_appear_at_synchronization),
        fresh(errors_have_names),
        fresh(every_gpu_model_is_reported),
        cmocka_unit_test(drivers_that_lack_something),
    };
    unit_clean_environment();
    if (!images_can_be_made())
        return UNIT_SKIPPED;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(product_image()->bytes);
    return failed;
}
