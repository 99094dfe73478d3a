/* SPDX-License-Identifier: Apache-2.0 */
/* test_modules.c - the emulated driver loads, rejects and runs modules, keeps the limits of launches, and runs captured
 * work when a graph is launched. */
#include "driver_unit.h"

#include <unistd.h>

/* ---- Loading -------------------------------------------------------------------------------------- */

static CUresult load(const char *bytes)
{
    CUmodule module;
    CUresult result = cuModuleLoadDataEx(&module, bytes, 0, NULL, NULL);
    if (result == CUDA_SUCCESS)
        assert_good(cuModuleUnload(module));
    return result;
}

static void cubins_are_rejected(void **state)
{
    made_image_t image = make_image("04_shared.cu", "-DTILE=16", "sm_86");
    (void)state;
    assert_cuda(load(image.bytes), CUDA_ERROR_NO_BINARY_FOR_GPU);
    free(image.bytes);
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

static void damaged_images_are_rejected(void **state)
{
    (void)state;
    assert_cuda(load("no image"), CUDA_ERROR_INVALID_PTX);
    assert_cuda(load(""), CUDA_ERROR_INVALID_PTX);
    assert_cuda(load((const char *)(uintptr_t)64), CUDA_ERROR_INVALID_IMAGE); /* not mapped */
    assert_cuda(load(NULL), CUDA_ERROR_INVALID_VALUE);
}

/* An instruction that the emulator does not implement is named in the log of the caller. */
static void unknown_instructions_are_rejected(void **state)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry f() {\n    frobnicate.b32 %r1;\n    ret;\n}\n";
    char log[200] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module;
    (void)state;
    assert_cuda(cuModuleLoadDataEx(&module, text, 2, options, values), CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(log, "frobnicate"));
}

/* Loads a module of one empty kernel with each function. */
static void every_function_loads_modules(void **state)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f() {\n    ret;\n}\n";
    char path[] = "/tmp/rung-module-XXXXXX";
    CUmodule modules[3] = {NULL};
    CUfunction function;
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, sizeof text - 1), (int)sizeof text - 1);
    close(file);
    assert_good(cuModuleLoadDataEx(&modules[0], text, 0, NULL, NULL));
    assert_good(cuModuleLoadData(&modules[1], text));
    assert_good(cuModuleLoad(&modules[2], path));
    for (int i = 0; i < 3; i++) {
        assert_good(cuModuleGetFunction(&function, modules[i], "f"));
        assert_good(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        assert_good(cuStreamSynchronize(NULL));
        assert_good(cuModuleUnload(modules[i]));
    }
    unlink(path);
    assert_cuda(cuModuleLoad(&modules[2], path), CUDA_ERROR_FILE_NOT_FOUND);
    assert_cuda(cuModuleLoad(&modules[2], "/tmp"), CUDA_ERROR_FILE_NOT_FOUND);
    assert_cuda(cuModuleLoad(&modules[2], NULL), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuModuleLoad(NULL, path), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuModuleLoad(&modules[2], "/dev/null"), CUDA_ERROR_INVALID_PTX);
    assert_cuda(cuModuleLoadData(NULL, text), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuModuleLoadData(&modules[1], NULL), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuModuleLoadData(&modules[1], "no image"), CUDA_ERROR_INVALID_PTX);
}

/* ---- Functions ------------------------------------------------------------------------------------ */

static int attribute(CUfunction function, CUfunction_attribute what)
{
    int value = -2;
    assert_good(cuFuncGetAttribute(&value, what, function));
    return value;
}

/* The GPU limits shared memory, not the architecture that a module was compiled for. */
static void limits_are_those_of_the_gpu(void **state)
{
    static const char text[] = ".version 8.0\n.target sm_52\n.address_size 64\n.visible .entry f() {\n    ret;\n}\n";
    enum { BYTES = 100000 };
    CUmodule module;
    CUfunction function;
    (void)state;
    assert_good(cuModuleLoadData(&module, text));
    assert_good(cuModuleGetFunction(&function, module, "f"));
    assert_good(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, BYTES));
    assert_good(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, BYTES, NULL, NULL, NULL));
    assert_good(cuStreamSynchronize(NULL));
    assert_good(cuModuleUnload(module));
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
    product.da = 4096;
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

/* A graph outlives its context, but its functions do not. */
static void a_graph_of_a_destroyed_context_is_rejected(void **state)
{
    CUcontext made;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    driver_product_t product;
    (void)state;
    assert_good(cuCtxCreate_v2(&made, 0, 0));
    product_begin(&product);
    assert_good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_good(product_launch(&product, stream));
    assert_good(cuStreamEndCapture(stream, &graph));
    assert_good(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_good(cuCtxDestroy_v2(made));
    product_begin(&product); /* may have the handles of the first one */
    assert_cuda(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_HANDLE);
    product_end(&product);
    assert_good(cuGraphExecDestroy(exec));
    assert_good(cuGraphDestroy(graph));
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

static char coverage_path[] = "/tmp/rung-coverage-XXXXXX";
static int coverage_file = -1;

static int coverage_begins(void **state)
{
    coverage_file = mkstemp(coverage_path);
    setenv("RUNG_EMULATED_COVERAGE", coverage_path, 1);
    return coverage_file < 0 ? -1 : driver_begin(state);
}

static int coverage_ends(void **state)
{
    unsetenv("RUNG_EMULATED_COVERAGE");
    close(coverage_file);
    unlink(coverage_path);
    return driver_end(state);
}

/* RUNG_EMULATED_COVERAGE names a file of the statements of inline PTX that were executed. Each is written once. */
static void executed_inline_ptx_is_recorded(void **state)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n"
        "    .reg .b32 %r<4>;\n    mov.u32 %r0, 3;\n    // begin inline asm\n    mov.u32 %r1, 5;\n"
        "    // end inline asm\n    mov.u32 %r2, 7;\n    ret;\n    // begin inline asm\n"
        "    mov.u32 %r3, 9;\n    // end inline asm\n}\n";
    char found[200] = "";
    CUmodule module;
    CUfunction function;
    (void)state;
    assert_good(cuModuleLoadData(&module, text));
    assert_good(cuModuleGetFunction(&function, module, "f"));
    for (int i = 0; i < 2; i++) {
        assert_good(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
        assert_good(cuStreamSynchronize(NULL));
    }
    assert_good(cuModuleUnload(module));
    assert_true(pread(coverage_file, found, sizeof found - 1, 0) > 0);
    assert_string_equal(found, "\t0\tmov.u32 %r1, 5;\n");
}

#define fresh(test) cmocka_unit_test_setup_teardown(test, driver_begin, driver_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh(cubins_are_rejected),
        fresh(ptx_runs_on_newer_architectures),
        fresh(damaged_images_are_rejected),
        fresh(unknown_instructions_are_rejected),
        fresh(every_function_loads_modules),
        cmocka_unit_test_setup_teardown(executed_inline_ptx_is_recorded, coverage_begins, coverage_ends),
        fresh(limits_are_those_of_the_gpu),
        fresh(function_attributes_are_reported),
        fresh(a_launch_computes),
        fresh(a_launch_with_everything_computes),
        fresh(launches_keep_to_the_limits),
        fresh(a_wild_pointer_sets_a_sticky_error),
        fresh(a_function_is_of_its_context),
        fresh(a_graph_runs_what_was_captured),
        fresh(a_graph_of_a_destroyed_context_is_rejected),
        fresh(captures_are_invalidated),
    };
    unit_clean_environment();
    if (!images_can_be_made())
        return UNIT_SKIPPED;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(product_image()->bytes);
    return failed;
}
