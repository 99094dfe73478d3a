/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a kernel's function and its launches on a stream. Running calls nothing of the
 * driver but launches, copies and events, so that it can be captured in a CUDA graph. */
#include "core/assert.h"
#include "core/checked.h"
#include "core/problem.h"
#include "cuda/device.h"

typedef struct cuda_plan {
    bool is_vendor; /* then only the next counts */
    rungi_blas_plan vendor;
    rungi_cu_function kernel, reduce; /* the second where k is cut */
    rungi_simt_work work;
    unsigned int shared_bytes; /* of a launch, beyond what is declared */
} cuda_plan_t;

/* ---- Making ---------------------------------------------------------------------------------------- */

static int64_t blocks_max(rungi_cuda_device *device)
{
    int value = 0;
    rungi_cu_result error = device->cu->DeviceGetAttribute(&value, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
                                                           device->id);
    return error == 0 && value > 0 ? value : INT32_MAX;
}

/* What the compiler says a block may have, and shared memory as far as it is declared. */
static rung_status check_function(rungi_cuda_device *device, const rung_kernel *kernel, int64_t threads,
                                  rungi_cu_function function, int64_t *shared_bytes)
{
    int threads_max = 0, shared = 0;
    rung_status status = rungi_cuda_check(
        device, device->cu->FuncGetAttribute(&threads_max, RUNGI_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
        "cuFuncGetAttribute");
    if (status == RUNG_OK)
        status = rungi_cuda_check(
            device, device->cu->FuncGetAttribute(&shared, RUNGI_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
            "cuFuncGetAttribute");
    if (status != RUNG_OK)
        return status;
    if (threads > threads_max)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s wants %lld threads a block; as compiled for %s it has "
                          "registers for %d",
                          kernel->info.name, (long long)threads, device->base.info.name, threads_max);
    *shared_bytes = rungi_larger(*shared_bytes, shared); /* dynamic memory, which the caller knows, is not declared */
    if (shared > device->base.info.shared_bytes_per_block)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s uses %d bytes of shared memory a block; %s has %lld",
                          kernel->info.name, shared, device->base.info.name,
                          (long long)device->base.info.shared_bytes_per_block);
    return RUNG_OK;
}

static rung_status make_function(rungi_cuda_device *device, const rungi_cuda_wish *wish, int64_t threads,
                                 rungi_cu_function *function, int64_t *shared_bytes)
{
    rung_status status = rungi_cuda_function_of(device, wish, function);
    return status == RUNG_OK ? check_function(device, wish->kernel, threads, *function, shared_bytes) : status;
}

/* The second half of a plan whose k is cut: adds up the shares. */
static rung_status make_reduce(rungi_cuda_device *device, const rung_plan *plan, cuda_plan_t *own)
{
    rung_kernel *kernel;
    rungi_values values;
    rungi_cuda_wish wish = {.values = &values};
    int64_t shared_bytes = 0;
    rung_status status = rungi_simt_reduce_of(plan, blocks_max(device), &own->work, &kernel, &values, &wish.path);
    if (status != RUNG_OK)
        return status;
    wish.kernel = kernel;
    status = make_function(device, &wish, own->work.reduce_shape.threads, &own->reduce, &shared_bytes);
    rung_kernel_destroy(kernel);
    return status;
}

/* Where neither an image nor a compiler has the epilogue. */
static rung_status finish_apart(rungi_cuda_device *device, rung_plan *plan, cuda_plan_t *own, rungi_cuda_wish *wish)
{
    rung_status status = rungi_simt_finish_apart(plan, &own->work);
    wish->path = own->work.path;
    return status == RUNG_OK
               ? make_function(device, wish, own->work.shape.threads, &own->kernel, &plan->block_shared_bytes)
               : status;
}

/* What a matrix engine multiplies came with one architecture after the other. */
static rung_status check_architecture(const rung_plan *plan, int architecture)
{
    rungi_product product = rungi_product_of(plan->problem.a.type, plan->problem.b.type, plan->problem.c.type);
    int from = plan->kernel->min_sm[product];
    if (architecture >= from)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "%s multiplies %s on sm_%d and later, whose matrix engine can; %s is "
                      "sm_%d",
                      plan->kernel->info.name, rungi_product_name(product), from, plan->device->info.name,
                      architecture);
}

rung_status rungi_cuda_work_of(rung_plan *plan, int architecture, int64_t blocks_max, rungi_simt_work *work,
                               int64_t *dynamic_bytes)
{
    enum { STATIC_SHARED = 48 * 1024 }; /* what every device gives; above that it is asked for */
    rung_status status = check_architecture(plan, architecture);
    if (status == RUNG_OK)
        status = rungi_simt_work_of(plan, blocks_max, work);
    if (status != RUNG_OK)
        return status;
    *dynamic_bytes = work->shared_bytes > STATIC_SHARED ? work->shared_bytes : 0;
    return RUNG_OK;
}

static rung_status fill_plan(rungi_cuda_device *device, rung_plan *plan, cuda_plan_t *own)
{
    int64_t dynamic_bytes;
    rung_status status = rungi_cuda_work_of(plan, device->architecture, blocks_max(device), &own->work, &dynamic_bytes);
    if (status != RUNG_OK)
        return status;
    own->shared_bytes = (unsigned int)dynamic_bytes;
    rungi_cuda_wish wish = {plan->kernel, &plan->values, own->work.path, own->shared_bytes, plan->carveout};
    status = make_function(device, &wish, own->work.shape.threads, &own->kernel, &plan->block_shared_bytes);
    if (status == RUNG_STATUS_UNSUPPORTED && rungi_problem_has_epilogue(&plan->problem) && !own->work.path.split &&
        own->work.arguments == RUNGI_SIMT_FINISH_ARGUMENTS)
        status = finish_apart(device, plan, own, &wish);
    if (status == RUNG_OK && own->work.path.split)
        status = make_reduce(device, plan, own);
    return status;
}

rung_status rungi_cuda_plan_create(rung_plan *plan)
{
    rungi_cuda_device *device = rungi_cuda_device_of(plan->device);
    cuda_plan_t *own = rungi_new(device->base.context, sizeof *own);
    if (!own)
        return RUNG_STATUS_NO_MEMORY;
    own->is_vendor = plan->kernel->step && plan->kernel->step->is_vendor;
    rung_status status = rungi_cuda_enter(device);
    if (status == RUNG_OK) {
        status = own->is_vendor ? rungi_blas_plan_create(plan, &own->vendor) : fill_plan(device, plan, own);
        rungi_cuda_leave(device);
    }
    if (status != RUNG_OK) {
        rungi_release(device->base.context, own);
        return status;
    }
    plan->state = own;
    return RUNG_OK;
}

void rungi_cuda_plan_destroy(rung_plan *plan)
{
    rungi_release(plan->device->context, plan->state); /* functions go with the device's modules */
}

/* ---- Running --------------------------------------------------------------------------------------- */

/* One run of a plan. */
typedef struct run {
    rungi_cuda_device *device;
    const cuda_plan_t *plan;
    rungi_cu_stream stream;
} run_t;

static uintptr_t handle_of(const rung_buffer *buffer)
{
    return (uintptr_t)((const rungi_cuda_buffer *)buffer)->pointer;
}

static rung_status launch(void *user, const rungi_simt_launch *launch)
{
    run_t *run = user;
    void *arguments[RUNGI_SIMT_ALL_ARGUMENTS];
    RUNGI_ASSERT(launch->count <= RUNGI_SIMT_ALL_ARGUMENTS && launch->blocks > 0 && launch->blocks <= UINT32_MAX);
    RUNGI_ASSERT(!launch->reduces || run->plan->reduce);
    /* The driver reads them, and its interface is older than const. */
    for (int i = 0; i < launch->count; i++)
        arguments[i] = (void *)(uintptr_t)launch->arguments[i].value;
    rungi_cu_result error = run->device->cu->LaunchKernel(
        launch->reduces ? run->plan->reduce : run->plan->kernel, (unsigned int)launch->blocks,
        (unsigned int)launch->items, (unsigned int)launch->shares, (unsigned int)launch->threads, 1, 1,
        launch->reduces ? 0 : run->plan->shared_bytes, run->stream, arguments, NULL);
    return rungi_cuda_check(run->device, error, "cuLaunchKernel");
}

static rung_status send(void *user, rung_buffer *workspace, int64_t offset, int64_t bytes, const void *from)
{
    run_t *run = user;
    rungi_cu_pointer to = handle_of(workspace) + (rungi_cu_pointer)offset;
    return rungi_cuda_check(run->device, run->device->cu->MemcpyHtoDAsync(to, from, (size_t)bytes, run->stream),
                            "cuMemcpyHtoDAsync");
}

static rung_status run_inside(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_sizes sizes,
                              const rung_run_options *options)
{
    const cuda_plan_t *own = plan->state;
    run_t run = {rungi_cuda_device_of(plan->device), own, ((rungi_cuda_queue *)queue)->stream};
    if (sizes.m == 0 || sizes.n == 0)
        return RUNG_OK;
    if (own->is_vendor)
        return rungi_blas_plan_run(plan, &own->vendor, queue, problem);
    rungi_simt_run launches = rungi_simt_run_of(plan, &own->work, problem, sizes, options);
    launches.user = &run;
    launches.handle = handle_of;
    launches.launch = launch;
    launches.send = send;
    return rungi_simt_launch_all(&launches);
}

rung_status rungi_cuda_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_sizes sizes,
                                const rung_run_options *options)
{
    rungi_cuda_device *device = rungi_cuda_device_of(plan->device);
    rung_status status = rungi_cuda_enter(device);
    if (status != RUNG_OK)
        return status;
    status = rungi_cuda_begin(queue, options);
    if (status == RUNG_OK)
        status = run_inside(plan, queue, problem, sizes, options);
    if (status == RUNG_OK)
        status = rungi_cuda_end(queue, options);
    rungi_cuda_leave(device);
    return status;
}
