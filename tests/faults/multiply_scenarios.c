/* SPDX-License-Identifier: Apache-2.0 */
/* multiply_scenarios.c - multiplications on each device: by one call, by plans, packed, in groups, quantized. */
#include "fault_session.h"

#include <string.h>

#include "base/try.h"

static rung_context *context;
static rung_device *device;
static rung_queue *queue;
static rung_event *event;
static rung_buffer *buffers[3], *packed;
static rung_plan *plan;

static void ignore_line(void *user, const char *line)
{
    (void)user, (void)line;
}

static rung_status open_context(const char *name, int threads, int verbose)
{
    rung_context_options options = rung_context_options_default();
    options.device = name;
    options.threads = threads;
    options.verbose = verbose;
    options.log = ignore_line;
    return context ? RUNG_OK : rung_context_create(&options, &context);
}

static void close_all(void)
{
    rung_plan_destroy(plan);
    rung_buffer_destroy(packed);
    for (int i = 0; i < 3; i++)
        rung_buffer_destroy(buffers[i]);
    rung_event_destroy(event);
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    plan = NULL, packed = NULL, event = NULL, queue = NULL, device = NULL, context = NULL;
    memset(buffers, 0, sizeof buffers);
}

static void close_nothing(void)
{
}

/* ---- One call -------------------------------------------------------------------------------------------------------- */

static rung_status multiply(rung_context *on)
{
    return rung_gemm(on, 1, fault_matrix_a(), fault_matrix_b(), 0, fault_matrix_c());
}

static rung_status run_one_thread(void)
{
    TRY(open_context("cpu", 1, -1));
    return multiply(context);
}

static rung_status run_two_threads(void)
{
    TRY(open_context("cpu", 2, -1));
    return multiply(context);
}

static rung_status run_opencl(void)
{
    TRY(open_context("opencl", 0, -1));
    return multiply(context);
}

static rung_status run_cuda(void)
{
    TRY(open_context("cuda", 0, -1));
    return multiply(context);
}

static rung_status run_default_context(void)
{
    return multiply(NULL);
}

/* ---- A plan, logged ---------------------------------------------------------------------------------------------------- */

static rung_status open_objects(const char *name, int verbose)
{
    static const int64_t bytes[] = {sizeof fault_a, sizeof fault_b, sizeof fault_c};
    TRY(open_context(name, 2, verbose));
    if (!device)
        TRY(rung_device_open(context, name, &device));
    if (!queue)
        TRY(rung_queue_create(device, &queue));
    if (!event)
        TRY(rung_event_create(device, &event));
    for (int i = 0; i < 3; i++)
        if (!buffers[i])
            TRY(rung_buffer_create(device, bytes[i], &buffers[i]));
    return RUNG_OK;
}

static rung_problem problem_in_buffers(void)
{
    return rung_problem_of(rung_matrix_in_buffer(RUNG_F32, FAULT_M, FAULT_K, buffers[0], 0),
                           rung_matrix_in_buffer(RUNG_F32, FAULT_K, FAULT_N, buffers[1], 0),
                           rung_matrix_in_buffer(RUNG_F32, FAULT_M, FAULT_N, buffers[2], 0));
}

static rung_status run_plan_on(const char *name)
{
    rung_run_options run = rung_run_options_default();
    TRY(open_objects(name, 1));
    rung_problem problem = problem_in_buffers();
    if (!plan)
        TRY(rung_plan_create(device, &problem, NULL, &plan));
    TRY(rung_buffer_write(queue, buffers[0], 0, sizeof fault_a, fault_a, NULL));
    TRY(rung_buffer_write(queue, buffers[1], 0, sizeof fault_b, fault_b, NULL));
    run.signal = event;
    TRY(rung_plan_run(plan, queue, &problem, &run));
    TRY(rung_event_wait(event));
    TRY(rung_buffer_read(queue, buffers[2], 0, sizeof fault_c, fault_c, NULL));
    return rung_queue_finish(queue);
}

static rung_status run_plan(void)
{
    return run_plan_on("cpu");
}

static rung_status run_opencl_plan(void)
{
    return run_plan_on("opencl");
}

static rung_status run_cuda_plan(void)
{
    return run_plan_on("cuda");
}

/* ---- A packed B, saved and loaded ---------------------------------------------------------------------------------------- */

static rung_status run_packed(void)
{
    rung_plan_options options = rung_plan_options_default();
    rung_run_options run = rung_run_options_default();
    rung_problem problem = rung_problem_of(fault_matrix_a(), fault_matrix_b(), fault_matrix_c());
    rung_matrix b = fault_matrix_b();
    TRY(open_objects("cpu", -1));
    options.packed_b = 1;
    if (!plan)
        TRY(rung_plan_create(device, &problem, &options, &plan));
    if (!packed)
        TRY(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed));
    TRY(rung_plan_pack_b(plan, queue, &b, packed, NULL));
    TRY(rung_packed_save(plan, queue, packed, fault_path("packed")));
    TRY(rung_packed_load(plan, queue, fault_path("packed"), &run.packed_b));
    rung_status status = rung_plan_run(plan, queue, &problem, &run);
    rung_buffer_destroy(run.packed_b);
    return status;
}

/* ---- A group of two halves ----------------------------------------------------------------------------------------------- */

static rung_status run_group(void)
{
    enum { HALF = FAULT_M / 2 };
    rung_problem problems[2];
    TRY(open_context("cpu", 2, -1));
    for (int i = 0; i < 2; i++)
        problems[i] = rung_problem_of(rung_matrix_block(fault_matrix_a(), i * HALF, 0, HALF, FAULT_K), fault_matrix_b(),
                                      rung_matrix_block(fault_matrix_c(), i * HALF, 0, HALF, FAULT_N));
    rung_group group = rung_group_of(problems, 2);
    return rung_group_multiply(context, &group, NULL);
}

/* ---- A quantized B, with scales of 1 ------------------------------------------------------------------------------------- */

static int8_t narrow_b[FAULT_K * FAULT_N];
static float scales[FAULT_N];

static rung_status run_quantized(void)
{
    rung_quantization quantization = rung_quantization_default();
    TRY(open_context("cpu", 2, -1));
    rung_problem problem = rung_problem_of(fault_matrix_a(), rung_matrix_of(RUNG_I8, FAULT_K, FAULT_N, narrow_b),
                                           fault_matrix_c());
    for (int i = 0; i < FAULT_K * FAULT_N; i++)
        narrow_b[i] = (int8_t)fault_b[i];
    for (int i = 0; i < FAULT_N; i++)
        scales[i] = 1;
    quantization.scales = rung_matrix_of(RUNG_F32, 1, FAULT_N, scales);
    quantization.block_cols = 1;
    problem.b_quantization = &quantization;
    return rung_multiply(context, &problem, NULL);
}

/* ---- Code that is not cached, and a kernel that does not compile ------------------------------------------------------- */

static rung_status run_compile(void)
{
    rung_code *code;
    rung_kernel *kernel;
    rung_problem problem = rung_problem_of(fault_matrix_a(), fault_matrix_b(), fault_matrix_c());
    TRY(open_context("cpu", 1, -1));
    TRY(rung_kernel_find(context, "cuda", "02", &kernel));
    TRY(rung_kernel_compile(kernel, &problem, NULL, "sm_86", &code));
    rung_code_destroy(code);
    return multiply(context);
}

static rung_status run_broken(const char *backend)
{
    rung_kernel *kernel;
    rung_code *code = NULL;
    rung_plan *refused = NULL;
    rung_plan_options options = rung_plan_options_default();
    rung_problem problem = rung_problem_of(fault_matrix_a(), fault_matrix_b(), fault_matrix_c());
    bool is_cuda = strcmp(backend, "cuda") == 0;
    TRY(is_cuda ? open_context("cpu", 1, -1) : open_context(backend, 0, -1));
    if (!is_cuda && !device)
        TRY(rung_device_open(context, backend, &device));
    TRY(rung_kernel_from_source(context, backend, "mine.cu", "#define BM 5\n#define BN 5\nKERNEL(25) mine(\n",
                                &kernel));
    options.kernel = kernel;
    rung_status status = is_cuda ? rung_kernel_compile(kernel, &problem, NULL, "sm_86", &code)
                                 : rung_plan_create(device, &problem, &options, &refused);
    rung_kernel_destroy(kernel);
    if (status != RUNG_STATUS_COMPILE_FAILED)
        return status == RUNG_OK ? rung_error_set(RUNG_STATUS_INVALID, "the broken kernel was compiled") : status;
    return multiply(context);
}

static rung_status run_broken_cuda(void)
{
    return run_broken("cuda");
}

static rung_status run_broken_opencl(void)
{
    return run_broken("opencl");
}

/* ---- Lists ---------------------------------------------------------------------------------------------------------------- */

static rung_status run_kernels(void)
{
    rung_kernel *kernel;
    rung_problem problem = rung_problem_of(fault_matrix_a(), fault_matrix_b(), fault_matrix_c());
    rung_candidate_list *candidates;
    TRY(open_objects("cpu", -1));
    for (int64_t i = 0; i < 3; i++)
        TRY(rung_kernel_at(context, "cuda", i, &kernel));
    TRY(rung_kernel_find(context, "cpu", "04", &kernel));
    TRY(rung_kernel_from_source(context, "cuda", "mine.cu", "#define BM 5\n", &kernel));
    rung_kernel_destroy(kernel);
    TRY(rung_candidate_list_create(device, &problem, NULL, &candidates));
    rung_candidate_list_destroy(candidates);
    return multiply(context);
}

const fault_scenario fault_multiply_scenarios[] = {
    {"cpu_1_thread", run_one_thread, close_all, fault_c_is_product, FAULT_CPU},
    {"cpu_2_threads", run_two_threads, close_all, fault_c_is_product, FAULT_CPU},
    {"cpu_default_context", run_default_context, close_nothing, fault_c_is_product, FAULT_CPU},
    {"cpu_plan", run_plan, close_all, fault_c_is_product, FAULT_CPU},
    {"cpu_packed", run_packed, close_all, fault_c_is_product, FAULT_CPU},
    {"cpu_group", run_group, close_all, fault_c_is_product, FAULT_CPU},
    {"cpu_quantized", run_quantized, close_all, fault_c_is_product, FAULT_CPU},
    {"cpu_kernels", run_kernels, close_all, fault_c_is_product, FAULT_CPU},
    {"opencl", run_opencl, close_all, fault_c_is_product, FAULT_OPENCL},
    {"opencl_plan", run_opencl_plan, close_all, fault_c_is_product, FAULT_OPENCL},
    {"opencl_broken_kernel", run_broken_opencl, close_all, fault_c_is_product, FAULT_OPENCL},
    {"cuda", run_cuda, close_all, fault_c_is_product, FAULT_CUDA},
    {"cuda_plan", run_cuda_plan, close_all, fault_c_is_product, FAULT_CUDA},
    {"nvrtc", run_compile, close_all, fault_c_is_product, FAULT_NVRTC},
    {"nvrtc_broken_kernel", run_broken_cuda, close_all, fault_c_is_product, FAULT_NVRTC},
    {0},
};
