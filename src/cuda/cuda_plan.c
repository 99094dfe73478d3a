/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_plan.c - plans of the CUDA device: loads the function of a plan and launches it on a stream. A run calls only
 * launches, copies and events of the driver, so that it can be captured in a CUDA graph. */
#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/problem.h"
#include "cuda/cuda_device.h"

typedef struct cuda_plan {
    bool is_library; /* 00_vendor: only `cublas` is used */
    rungi_cublas_plan cublas;
    rungi_cu_function kernel, reduce; /* the second for split-K */
    rungi_simt_plan simt;
    unsigned int shared_bytes; /* dynamic shared memory per launch */
} cuda_plan_t;

/* ---- Creating -------------------------------------------------------------------------------------- */

static int64_t blocks_max(rungi_cuda_device *device)
{
    int value = 0;
    rungi_cu_result error = device->cu->DeviceGetAttribute(&value, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
                                                           device->id);
    return error == 0 && value > 0 ? value : INT32_MAX;
}

/* Loads a function and checks its registers and its declared shared memory. */
static rung_status make_function(rungi_cuda_device *device, const rungi_cuda_function_spec *spec, int64_t threads,
                                 rungi_cu_function *function, int64_t *shared_bytes)
{
    int threads_max = 0, shared = 0;
    TRY(rungi_cuda_function_of(device, spec, function));
    TRY(RUNGI_CUDA_CALL(device, FuncGetAttribute, &threads_max, RUNGI_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                        *function));
    TRY(RUNGI_CUDA_CALL(device, FuncGetAttribute, &shared, RUNGI_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, *function));
    TRY(rungi_simt_check_compiled(&device->base, spec->kernel, threads, threads_max, shared));
    *shared_bytes = rungi_max(*shared_bytes, shared); /* the caller has added dynamic shared memory */
    return RUNG_OK;
}

/* Loads the kernel that adds the slices of split-K. */
static rung_status make_reduce(rungi_cuda_device *device, const rung_plan *plan, cuda_plan_t *own)
{
    rung_kernel *kernel;
    rungi_parameter_values values;
    rungi_cuda_function_spec spec = {.values = &values};
    int64_t shared_bytes = 0;
    TRY(rungi_simt_reduction_init(plan, blocks_max(device), &own->simt, &kernel, &values, &spec.path));
    spec.kernel = kernel;
    rung_status status = make_function(device, &spec, own->simt.reduce_shape.threads, &own->reduce, &shared_bytes);
    rung_kernel_destroy(kernel);
    return status;
}

/* Lets reduce.cu apply the epilogue if neither an embedded image nor a compiler provides a kernel with it. */
static rung_status separate_epilogue(rungi_cuda_device *device, rung_plan *plan, cuda_plan_t *own,
                                     rungi_cuda_function_spec *spec)
{
    TRY(rungi_simt_plan_separate_epilogue(plan, &own->simt));
    spec->path = own->simt.path;
    return make_function(device, spec, own->simt.shape.threads, &own->kernel, &plan->block_shared_bytes);
}

/* Checks that the matrix engine of the architecture supports the types of the plan. */
static rung_status check_architecture(const rung_plan *plan, int architecture)
{
    rungi_gemm_types product = rungi_gemm_types_of(plan->problem.a.type, plan->problem.b.type, plan->problem.c.type);
    int from = rungi_kernel_min_sm(plan->kernel, &plan->problem), only = plan->kernel->info.only_sm;
    if (only > 0 && architecture != only)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s uses instructions of sm_%da and runs only on sm_%d; %s is sm_%d",
                          plan->kernel->info.name, only, only, plan->device->info.name, architecture);
    if (architecture >= from)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s multiplies %s only on sm_%d and later; %s is sm_%d",
                      plan->kernel->info.name, rungi_gemm_types_name(product), from, plan->device->info.name,
                      architecture);
}

/* Checks that the matrix engine of the architecture has FP4, which it multiplies with scales only. */
static rung_status check_fp4(const rung_plan *plan, int architecture, const rungi_simt_path *path)
{
    bool has_fp4 = path->narrow_a.type == RUNG_F4E2M1 ||
                   (path->narrow_a.type != RUNG_TYPE_NONE && path->narrow_b.type == RUNG_F4E2M1);
    if (!has_fp4 || rungi_cuda_is_specific(plan->kernel, architecture))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s multiplies %s x %s only on sm_120 and later; %s is sm_%d",
                      plan->kernel->info.name, rung_type_name(plan->problem.a.type),
                      rung_type_name(plan->problem.b.type), plan->device->info.name, architecture);
}

rung_status rungi_cuda_simt_plan_init(rung_plan *plan, int architecture, int64_t blocks_max, rungi_simt_plan *simt,
                                      int64_t *dynamic_bytes)
{
    enum { STATIC_SHARED_MAX = 48 * 1024 }; /* more must be dynamic */
    TRY(check_architecture(plan, architecture));
    TRY(rungi_simt_plan_init(plan, blocks_max, simt));
    TRY(check_fp4(plan, architecture, &simt->path));
    *dynamic_bytes = simt->shared_bytes > STATIC_SHARED_MAX ? simt->shared_bytes : 0;
    return RUNG_OK;
}

static rung_status check_driver(rungi_cuda_device *device, const rung_plan *plan)
{
    if (rungi_simt_has_tensor_maps(plan->kernel) && !device->cu->TensorMapEncodeTiled)
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "%s needs tensor maps, which the driver does not have; install a driver for CUDA 12.0 or later",
            plan->kernel->info.name);
    return RUNG_OK;
}

static rung_status fill_plan(rungi_cuda_device *device, rung_plan *plan, cuda_plan_t *own)
{
    int64_t dynamic_bytes;
    TRY(check_driver(device, plan));
    TRY(rungi_cuda_simt_plan_init(plan, device->architecture, blocks_max(device), &own->simt, &dynamic_bytes));
    own->shared_bytes = (unsigned int)dynamic_bytes;
    rungi_cuda_function_spec spec = {plan->kernel, &plan->values, own->simt.path, own->shared_bytes, plan->carveout};
    rung_status status = make_function(device, &spec, own->simt.shape.threads, &own->kernel, &plan->block_shared_bytes);
    if (status == RUNG_STATUS_UNSUPPORTED && rungi_problem_has_epilogue(&plan->problem) && !own->simt.path.split &&
        !plan->group && own->simt.arguments == RUNGI_SIMT_EPILOGUE_ARGUMENTS)
        status = separate_epilogue(device, plan, own, &spec);
    if (status == RUNG_OK && own->simt.path.split)
        status = make_reduce(device, plan, own);
    return status;
}

rung_status rungi_cuda_plan_create(rung_plan *plan)
{
    rungi_cuda_device *device = rungi_cuda_device_of(plan->device);
    cuda_plan_t *own = rungi_allocate_zeroed(device->base.context, sizeof *own);
    if (!own)
        return RUNG_STATUS_NO_MEMORY;
    own->is_library = plan->kernel->step && plan->kernel->step->is_vendor;
    rung_status status = rungi_cuda_context_push(device);
    if (status == RUNG_OK)
        status = rungi_cuda_context_leave(device, own->is_library ? rungi_cublas_plan_create(plan, &own->cublas)
                                                                  : fill_plan(device, plan, own));
    if (status == RUNG_OK)
        plan->state = own;
    else
        rungi_release(device->base.context, own);
    return status;
}

void rungi_cuda_plan_destroy(rung_plan *plan)
{
    rungi_release(plan->device->context, plan->state); /* the device's modules own the functions */
}

/* ---- Running --------------------------------------------------------------------------------------- */

/* One run of a plan. */
typedef struct cuda_run {
    rungi_cuda_device *device;
    const cuda_plan_t *plan;
    rungi_cu_stream stream;
} cuda_run_t;

static uintptr_t handle_of(const rung_buffer *buffer)
{
    return (uintptr_t)((const rungi_cuda_buffer *)buffer)->pointer;
}

static rung_status launch(void *device_state, const rungi_simt_launch *launch)
{
    cuda_run_t *run = device_state;
    void *arguments[RUNGI_SIMT_ARGUMENTS_MAX];
    RUNGI_ASSERT(launch->count <= RUNGI_SIMT_ARGUMENTS_MAX && launch->blocks > 0 && launch->blocks <= UINT32_MAX);
    RUNGI_ASSERT(!launch->is_reduction || run->plan->reduce);
    /* The driver only reads the arguments, although its interface lacks const. */
    for (int i = 0; i < launch->count; i++)
        arguments[i] = (void *)(uintptr_t)launch->arguments[i].value;
    return RUNGI_CUDA_CALL(run->device, LaunchKernel, launch->is_reduction ? run->plan->reduce : run->plan->kernel,
                           (unsigned int)launch->blocks, (unsigned int)launch->items, (unsigned int)launch->slices,
                           (unsigned int)launch->threads, 1, 1, launch->is_reduction ? 0 : run->plan->shared_bytes,
                           run->stream, arguments, NULL);
}

static rung_status upload(void *device_state, rung_buffer *workspace, int64_t offset, int64_t bytes, const void *from)
{
    cuda_run_t *run = device_state;
    rungi_cu_pointer to = handle_of(workspace) + (rungi_cu_pointer)offset;
    return RUNGI_CUDA_CALL(run->device, MemcpyHtoDAsync, to, from, (size_t)bytes, run->stream);
}

/* The rows of a box have 128 bytes, which the swizzle permutes as wgmma reads them. Types matter for conversions only. */
static rung_status encode(void *device_state, const rungi_simt_tensor *tensor, rungi_simt_tensor_map *map)
{
    static const uint32_t steps[RUNGI_SIMT_TENSOR_RANK] = {1, 1, 1};
    cuda_run_t *run = device_state;
    void *address = (void *)(tensor->handle + (uintptr_t)tensor->offset);
    return RUNGI_CUDA_CALL(run->device, TensorMapEncodeTiled, (struct CUtensorMap_st *)map,
                           tensor->element_bytes == 1 ? RUNGI_CU_TENSOR_MAP_DATA_TYPE_UINT8
                                                      : RUNGI_CU_TENSOR_MAP_DATA_TYPE_UINT16,
                           RUNGI_SIMT_TENSOR_RANK, address, tensor->sizes, tensor->strides, tensor->box, steps,
                           RUNGI_CU_TENSOR_MAP_INTERLEAVE_NONE, RUNGI_CU_TENSOR_MAP_SWIZZLE_128B,
                           RUNGI_CU_TENSOR_MAP_L2_PROMOTION_L2_128B, RUNGI_CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static rung_status run_in_context(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                  rungi_gemm_sizes sizes, const rung_run_options *options)
{
    const cuda_plan_t *own = plan->state;
    cuda_run_t run = {rungi_cuda_device_of(plan->device), own, rungi_cuda_stream_of(queue)};
    if (sizes.m == 0 || sizes.n == 0)
        return RUNG_OK;
    if (own->is_library)
        return rungi_cublas_plan_run(plan, &own->cublas, queue, problem);
    rungi_simt_run launches = {.simt = &own->simt,
                               .device_state = &run,
                               .handle = handle_of,
                               .launch = launch,
                               .upload = upload,
                               .encode = encode};
    return rungi_simt_launch_all(&launches, plan, problem, sizes, options);
}

rung_status rungi_cuda_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_gemm_sizes sizes,
                                const rung_run_options *options)
{
    TRY(rungi_cuda_submit_begin(queue, options));
    return rungi_cuda_submit_end(queue, options, run_in_context(plan, queue, problem, sizes, options));
}

static rung_status run_group_in_context(rung_plan *plan, rung_queue *queue, void *table,
                                        const rung_run_options *options)
{
    const cuda_plan_t *own = plan->state;
    cuda_run_t run = {rungi_cuda_device_of(plan->device), own, rungi_cuda_stream_of(queue)};
    rungi_simt_run launches = {
        .simt = &own->simt, .device_state = &run, .handle = handle_of, .launch = launch, .upload = upload};
    return rungi_simt_launch_group(&launches, plan, table, options);
}

rung_status rungi_cuda_group_run(rung_plan *plan, rung_queue *queue, void *table, const rung_run_options *options)
{
    TRY(rungi_cuda_submit_begin(queue, options));
    return rungi_cuda_submit_end(queue, options, run_group_in_context(plan, queue, table, options));
}
