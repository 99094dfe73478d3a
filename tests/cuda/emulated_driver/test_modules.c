/* SPDX-License-Identifier: Apache-2.0 */
/* test_modules.c - images are loaded, refused and run as a driver would, launches keep to
 * the limits, and what a stream captures runs when its graph does. */
#include "driver_unit.h"

/* ---- Loading -------------------------------------------------------------------------------------- */

static CUresult load(const char *bytes)
{
    CUmodule module;
    CUresult result = cuModuleLoadDataEx(&module, bytes, 0, NULL, NULL);
    if (result == CUDA_SUCCESS)
        assert_good(cuModuleUnload(module));
    return result;
}

static void cubins_run_on_their_architecture(void **state)
{
    (void)state;
    assert_good(load(product_image()->bytes)); /* sm_86 on 86 */
    setenv("RUNG_EMULATED_ARCH", "89", 1);
    assert_good(load(product_image()->bytes));
    setenv("RUNG_EMULATED_ARCH", "80", 1);
    assert_cuda(load(product_image()->bytes), CUDA_ERROR_NO_BINARY_FOR_GPU);
    setenv("RUNG_EMULATED_ARCH", "90", 1);
    assert_cuda(load(product_image()->bytes), CUDA_ERROR_NO_BINARY_FOR_GPU);
    unsetenv("RUNG_EMULATED_ARCH");
}

static void ptx_runs_on_newer_architectures(void **state)
{
    char log[200] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module;
    made_image_t ptx = make_image("04_shared.cu", "-DTILE=16", "compute_80");
    (void)state;
    assert_good(load(ptx.bytes));
    setenv("RUNG_EMULATED_ARCH", "130", 1);
    assert_good(load(ptx.bytes));
    setenv("RUNG_EMULATED_ARCH", "75", 1);
    assert_cuda(load(ptx.bytes), CUDA_ERROR_NO_BINARY_FOR_GPU);
    unsetenv("RUNG_EMULATED_ARCH");
    setenv("RUNG_EMULATED_DRIVER_VERSION", "12040", 1); /* knows 8.4, the text is 8.8 */
    assert_cuda(cuModuleLoadDataEx(&module, ptx.bytes, 2, options, values), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    assert_non_null(strstr(log, "version"));
    setenv("RUNG_EMULATED_DRIVER_VERSION", "13000", 1);
    assert_good(load(ptx.bytes));
    unsetenv("RUNG_EMULATED_DRIVER_VERSION");
    ptx.bytes[ptx.size / 2] = '\0';
    assert_cuda(load(ptx.bytes), CUDA_ERROR_INVALID_PTX);
    free(ptx.bytes);
}

static void damaged_images_are_refused(void **state)
{
    made_image_t image = make_image("04_shared.cu", "-DTILE=16", "sm_86");
    (void)state;
    memset(image.bytes + 40, 0x7f, 8); /* where its tables are */
    assert_cuda(load(image.bytes), CUDA_ERROR_INVALID_IMAGE);
    assert_cuda(load("no image"), CUDA_ERROR_INVALID_PTX);
    assert_cuda(load((const char *)(uintptr_t)64), CUDA_ERROR_INVALID_IMAGE); /* not even memory */
    assert_cuda(load(NULL), CUDA_ERROR_INVALID_VALUE);
    free(image.bytes);
}

/* A caller's own file is read from where the image says it stands. */
static void a_file_of_the_disk_is_run(void **state)
{
    char path[] = "/tmp/emulated_own_XXXXXX", command[300];
    CUmodule module;
    CUfunction function;
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    snprintf(command, sizeof command, "cp '%s/01_naive.cu' '%s'", TEST_KERNELS, path);
    assert_int_equal(system(command), 0);
    made_image_t image = make_image(path, "", "sm_80");
    assert_good(cuModuleLoadDataEx(&module, image.bytes, 0, NULL, NULL));
    assert_good(cuModuleGetFunction(&function, module, "rung_01_naive"));
    assert_good(cuModuleUnload(module));
    remove(path);
    assert_cuda(load(image.bytes), CUDA_ERROR_INVALID_SOURCE);
    free(image.bytes);
}

/* ---- Functions ------------------------------------------------------------------------------------ */

static int attribute(CUfunction function, CUfunction_attribute what)
{
    int value = -2;
    assert_good(cuFuncGetAttribute(&value, what, function));
    return value;
}

static void function_attributes_are_reported(void **state)
{
    CUfunction other;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_cuda(cuModuleGetFunction(&other, product.module, "rung_05_padded"), CUDA_ERROR_NOT_FOUND);
    assert_good(cuModuleGetFunction(&other, product.module, "rung_04_shared"));
    assert_ptr_equal(other, product.function);
    assert_int_equal(attribute(other, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
    assert_int_equal(attribute(other, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 2048);
    assert_int_equal(attribute(other, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 0);
    assert_true(attribute(other, CU_FUNC_ATTRIBUTE_NUM_REGS) > 15);
    assert_int_equal(attribute(other, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), -1);
    assert_good(cuFuncSetAttribute(other, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100));
    assert_int_equal(attribute(other, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 100);
    assert_cuda(cuFuncSetAttribute(other, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
                CUDA_ERROR_INVALID_VALUE);
    assert_good(cuFuncSetAttribute(other, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 101376 - 2048));
    assert_cuda(cuFuncSetAttribute(other, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 101376 - 2047),
                CUDA_ERROR_INVALID_VALUE);
    product_end(&product);
    assert_cuda(cuFuncGetAttribute(&(int){0}, CU_FUNC_ATTRIBUTE_NUM_REGS, other), CUDA_ERROR_INVALID_HANDLE);
}

/* ---- Launches ------------------------------------------------------------------------------------- */

static void a_launch_computes(void **state)
{
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(product_launch(&product, NULL));
    assert_true(product_is_right(&product));
    product.alpha = 2.0f;
    assert_good(product_launch(&product, CU_STREAM_PER_THREAD));
    assert_false(product_is_right(&product)); /* the arguments are what is run with */
    product_end(&product);
}

/* With all sixteen arguments, of which a plain product leaves four pointers NULL. */
static void a_launch_with_everything_computes(void **state)
{
    struct {
        long long batch, first_item, splits, k_per_slice, flags, batch_offsets_start, partials_offset, scratch_offset;
        driver_view_t bias, residual, addend;
    } extra = {.batch = 1, .splits = 1, .k_per_slice = PRODUCT_K};
    CUdeviceptr none[4] = {0};
    CUmodule module;
    CUfunction function;
    driver_product_t product;
    made_image_t image = make_image("07_tile2d.cu", "-DBM=16 -DBN=16 -DBK=8 -DTM=2 -DTN=2", "compute_60");
    (void)state;
    product_begin(&product);
    assert_good(cuModuleLoadDataEx(&module, image.bytes, 0, NULL, NULL));
    assert_good(cuModuleGetFunction(&function, module, "rung_07_tile2d"));
    void *arguments[16] = {[11] = &extra, &none[0], &none[1], &none[2], &none[3]};
    memcpy(arguments, product.arguments, sizeof product.arguments);
    assert_int_equal(attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 64);
    assert_good(cuLaunchKernel(function, 9, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    assert_true(product_is_right(&product));
    assert_good(cuModuleUnload(module));
    product_end(&product);
    free(image.bytes);
}

static CUresult launch(driver_product_t *product, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned bz,
                       unsigned shared)
{
    return cuLaunchKernel(product->function, x, y, z, bx, 1, bz, shared, NULL, product->arguments, NULL);
}

static void launches_keep_to_the_limits(void **state)
{
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_cuda(launch(&product, 0, 1, 1, 256, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(launch(&product, 1, 65536, 1, 256, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(launch(&product, 1, 1, 65536, 256, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(launch(&product, 1u << 31, 1, 1, 256, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(launch(&product, 1, 1, 1, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(launch(&product, 1, 1, 1, 257, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(launch(&product, 1, 1, 1, 256, 2, 0), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(launch(&product, 1, 1, 1, 256, 1, 48 * 1024 - 2047), CUDA_ERROR_INVALID_VALUE);
    assert_good(cuFuncSetAttribute(product.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    assert_good(launch(&product, 9, 1, 1, 256, 1, 60000));
    assert_cuda(launch(&product, 9, 1, 1, 256, 1, 60001), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuLaunchKernel((CUfunction)(uintptr_t)8, 1, 1, 1, 1, 1, 1, 0, NULL, product.arguments, NULL),
                CUDA_ERROR_INVALID_HANDLE);
    assert_true(product_is_right(&product));
    product_end(&product);
}

static void a_wild_pointer_sets_a_sticky_error(void **state)
{
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(cuMemFree_v2(product.da));
    assert_good(product_launch(&product, NULL));
    assert_cuda(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_cuda(product_launch(&product, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_function_is_of_its_context(void **state)
{
    CUcontext made;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(cuCtxCreate_v2(&made, 0, 0));
    assert_cuda(product_launch(&product, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_cuda(cuModuleUnload(product.module), CUDA_ERROR_INVALID_HANDLE);
    assert_good(cuCtxDestroy_v2(made));
    product_end(&product);
}

/* ---- Captures ------------------------------------------------------------------------------------- */

static void a_graph_runs_what_was_captured(void **state)
{
    CUstream stream, joined;
    CUevent fork, join;
    CUgraph graph;
    CUgraphExec exec;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_good(cuStreamCreate(&joined, CU_STREAM_NON_BLOCKING));
    assert_good(cuEventCreate(&fork, 0));
    assert_good(cuEventCreate(&join, 0));
    assert_good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_good(cuMemcpyHtoDAsync_v2(product.da, product.a, sizeof product.a, stream));
    assert_good(cuEventRecord(fork, stream));
    assert_good(cuStreamWaitEvent(joined, fork, 0));
    assert_good(product_launch(&product, joined));
    assert_good(cuEventRecord(join, joined));
    assert_good(cuStreamWaitEvent(stream, join, 0));
    product.alpha = 5.0f; /* the recording has its own copy */
    assert_good(cuStreamEndCapture(stream, &graph));
    product.a[0] += 1.0f; /* but reads the host's memory when it runs */
    assert_good(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_good(cuGraphDestroy(graph));
    assert_int_equal(rung_emulated_live_objects("graphs"), 1);
    assert_false(product_is_right(&product));
    assert_good(cuGraphLaunch(exec, joined));
    assert_good(cuStreamSynchronize(joined));
    assert_true(product_is_right(&product));
    assert_good(cuGraphExecDestroy(exec));
    assert_good(cuEventDestroy_v2(fork));
    assert_good(cuEventDestroy_v2(join));
    assert_good(cuStreamDestroy_v2(stream));
    assert_good(cuStreamDestroy_v2(joined));
    product_end(&product);
}

/* What spoils a capture, and that it does. */
static CUresult invalidate_capture(int how, CUstream stream, CUevent event, driver_product_t *product)
{
    CUdeviceptr memory;
    switch (how) {
    case 0: return cuStreamSynchronize(stream);
    case 1: return cuMemAlloc_v2(&memory, 8);
    case 2: return cuMemFree_v2(product->da);
    case 3: return cuEventQuery(event);
    case 4: return cuEventSynchronize(event);
    default: return cuCtxSynchronize();
    }
}

static void captures_are_invalidated(void **state)
{
    CUstream stream;
    CUevent event;
    CUgraph graph;
    CUstreamCaptureStatus status;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(cuStreamCreate(&stream, 0));
    assert_good(cuEventCreate(&event, 0));
    assert_cuda(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    for (int how = 0; how < 6; how++) {
        assert_good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        assert_good(product_launch(&product, stream));
        assert_good(cuEventRecord(event, stream));
        assert_good(cuStreamIsCapturing(stream, &status));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        assert_cuda(invalidate_capture(how, stream, event, &product), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        assert_cuda(product_launch(&product, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        assert_cuda(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        assert_null(graph);
        assert_good(cuStreamIsCapturing(stream, &status));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    }
    assert_good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_good(load(product_image()->bytes));
    assert_good(cuCtxPopCurrent_v2(NULL));
    assert_good(cuCtxPushCurrent_v2(*state));
    assert_good(cuStreamDestroy_v2(stream)); /* in the middle of it */
    assert_good(cuEventDestroy_v2(event));
    product_end(&product);
}

#define fresh(test) cmocka_unit_test_setup_teardown(test, driver_begin, driver_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh(cubins_run_on_their_architecture),   fresh(ptx_runs_on_newer_architectures),
        fresh(damaged_images_are_refused),         fresh(a_file_of_the_disk_is_run),
        fresh(function_attributes_are_reported),   fresh(a_launch_computes),
        fresh(a_launch_with_everything_computes),  fresh(launches_keep_to_the_limits),
        fresh(a_wild_pointer_sets_a_sticky_error), fresh(a_function_is_of_its_context),
        fresh(a_graph_runs_what_was_captured),     fresh(captures_are_invalidated),
    };
    unit_clean_environment();
    if (!images_can_be_made())
        return UNIT_SKIPPED;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(product_image()->bytes);
    return failed;
}
