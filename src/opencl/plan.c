/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a compiled kernel, its launch shape, and its launches. */
#include "opencl/opencl.h"

#include <stdio.h>

#include "core/assert.h"
#include "opencl/vendor.h"

typedef struct opencl_plan {
    bool is_vendor; /* then only the next counts */
    rungi_opencl_vendor vendor;
    pthread_mutex_t lock; /* arguments belong to the kernel object, launches to threads */
    cl_kernel kernel;
    cl_kernel reduce; /* NULL unless k is cut */
    rungi_simt_work work;
} opencl_plan_t;

/* ---- Making ------------------------------------------------------------------------------------ */

/* Registers, shared memory and arguments are known only after compiling. */
static rung_status check_compiled(rungi_opencl_device *device, const rung_kernel *kernel, int64_t threads,
                                  cl_kernel compiled, int64_t *shared_bytes)
{
    cl_ulong shared = 0;
    cl_uint arguments = 0;
    size_t threads_max = 0;
    cl_int error = device->cl->GetKernelWorkGroupInfo(compiled, device->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof shared,
                                                      &shared, NULL);
    if (error == CL_SUCCESS)
        error = device->cl->GetKernelWorkGroupInfo(compiled, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof threads_max,
                                                   &threads_max, NULL);
    if (error == CL_SUCCESS)
        error = device->cl->GetKernelInfo(compiled, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clGetKernelInfo");
    *shared_bytes = (int64_t)shared;
    if ((int64_t)shared > device->base.info.shared_bytes_per_block)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s uses %lld bytes of shared memory a block; %s has %lld",
                          kernel->info.name, (long long)shared, device->base.info.name,
                          (long long)device->base.info.shared_bytes_per_block);
    if ((uint64_t)threads > threads_max)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s wants %lld threads a block; as compiled for %s it has "
                          "registers for %zu",
                          kernel->info.name, (long long)threads, device->base.info.name, threads_max);
    if ((int)arguments != rungi_simt_arguments(kernel))
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%s takes %u arguments; a kernel takes the %d that dialect.h "
                          "lists, with finish.h its five more and with engine.h another",
                          kernel->info.file, (unsigned)arguments, RUNGI_SIMT_ARGUMENTS);
    return RUNG_OK;
}

static rung_status make_kernel(rungi_opencl_device *device, const rung_kernel *kernel, const rungi_values *values,
                               const rungi_simt_path *path, int64_t threads, cl_kernel *out, int64_t *shared_bytes)
{
    cl_program program;
    cl_int error;
    char name[RUNGI_SIMT_NAME + 1];
    rung_status status = rungi_opencl_program_of(device, kernel, values, path, &program);
    if (status != RUNG_OK)
        return status;
    RUNGI_ASSERT(kernel->entry.length > 0 && kernel->entry.length < sizeof name); /* rungi_simt_shape_of() */
    snprintf(name, sizeof name, "%.*s", (int)kernel->entry.length, kernel->entry.text);
    *out = device->cl->CreateKernel(program, name, &error);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clCreateKernel");
    rungi_cl_count(device->cl, RUNGI_CL_KERNEL);
    status = check_compiled(device, kernel, threads, *out, shared_bytes);
    if (status != RUNG_OK) {
        rungi_cl_release_kernel(device->cl, *out);
        *out = NULL;
    }
    return status;
}

/* The second half of a plan whose k is cut: adds up the shares. */
static rung_status make_reduce(rungi_opencl_device *device, const rung_plan *plan, opencl_plan_t *own)
{
    rung_kernel *kernel;
    rungi_values values;
    rungi_simt_path path;
    int64_t shared_bytes;
    rung_status status = rungi_simt_reduce_of(plan, device->blocks_max, &own->work, &kernel, &values, &path);
    if (status != RUNG_OK)
        return status;
    status = make_kernel(device, kernel, &values, &path, own->work.reduce_shape.threads, &own->reduce, &shared_bytes);
    rung_kernel_destroy(kernel);
    return status;
}

static void free_plan(rungi_opencl_device *device, opencl_plan_t *own)
{
    if (own->kernel)
        rungi_cl_release_kernel(device->cl, own->kernel);
    if (own->reduce)
        rungi_cl_release_kernel(device->cl, own->reduce);
    rungi_release(device->base.context, own);
}

static rung_status create_vendor_plan(rung_plan *plan)
{
    rungi_opencl_vendor vendor;
    rung_status status = rungi_opencl_vendor_create(plan, &vendor);
    if (status != RUNG_OK)
        return status;
    opencl_plan_t *own = rungi_new(plan->device->context, sizeof *own);
    if (!own)
        return RUNG_STATUS_NO_MEMORY;
    own->is_vendor = true;
    own->vendor = vendor;
    plan->state = own;
    return RUNG_OK;
}

static rung_status fill_plan(rungi_opencl_device *device, rung_plan *plan, opencl_plan_t *own)
{
    if (plan->problem.a.type == RUNG_F64 && !device->has_f64)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s has no 64-bit floating point", plan->kernel->info.name,
                          device->base.info.name);
    rung_status status = rungi_simt_work_of(plan, device->blocks_max, &own->work);
    if (status == RUNG_OK)
        status = make_kernel(device, plan->kernel, &plan->values, &own->work.path, own->work.shape.threads,
                             &own->kernel, &plan->block_shared_bytes);
    if (status == RUNG_OK && own->work.path.split)
        status = make_reduce(device, plan, own);
    if (status == RUNG_OK && pthread_mutex_init(&own->lock, NULL) != 0)
        status = rungi_fail(RUNG_STATUS_NO_MEMORY, "no mutex could be made for a plan");
    return status;
}

rung_status rungi_opencl_plan_create(rung_plan *plan)
{
    if (plan->kernel->step && plan->kernel->step->is_vendor)
        return create_vendor_plan(plan);
    rungi_opencl_device *device = rungi_opencl_device_of(plan->device);
    opencl_plan_t *own = rungi_new(device->base.context, sizeof *own);
    if (!own)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = fill_plan(device, plan, own);
    if (status != RUNG_OK) {
        free_plan(device, own);
        return status;
    }
    plan->state = own;
    return RUNG_OK;
}

void rungi_opencl_plan_destroy(rung_plan *plan)
{
    opencl_plan_t *own = plan->state;
    if (!own->is_vendor)
        pthread_mutex_destroy(&own->lock);
    free_plan(rungi_opencl_device_of(plan->device), own);
}

/* ---- Running ----------------------------------------------------------------------------------- */

/* One run of a plan. */
typedef struct run {
    rungi_cl *cl;
    const opencl_plan_t *plan;
    cl_command_queue queue;
    rungi_opencl_waits waits;
    cl_event first, last; /* of its commands */
} run_t;

static uintptr_t handle_of(const rung_buffer *buffer)
{
    return (uintptr_t)((const rungi_opencl_buffer *)buffer)->memory;
}

/* Keeps the first command's event and the last one's; the reference becomes the run's. */
static void keep_event(run_t *run, cl_event event)
{
    rungi_cl_count(run->cl, RUNGI_CL_EVENT);
    if (!run->first && run->cl->RetainEvent(event) == CL_SUCCESS) {
        run->first = event;
        rungi_cl_count(run->cl, RUNGI_CL_EVENT);
    }
    rungi_cl_release_event(run->cl, run->last);
    run->last = event;
}

static rung_status launch(void *user, const rungi_simt_launch *launch)
{
    run_t *run = user;
    cl_kernel kernel = launch->reduces ? run->plan->reduce : run->plan->kernel;
    size_t local[] = {(size_t)launch->threads, 1, 1};
    size_t all[] = {(size_t)(launch->blocks * launch->threads), (size_t)launch->items, (size_t)launch->shares};
    cl_event event;
    RUNGI_ASSERT(kernel && launch->count <= RUNGI_SIMT_ALL_ARGUMENTS && launch->blocks > 0);
    for (int i = 0; i < launch->count; i++) {
        cl_int error = run->cl->SetKernelArg(kernel, (cl_uint)i, launch->arguments[i].size, launch->arguments[i].value);
        if (error != CL_SUCCESS)
            return rungi_cl_fail(error, "clSetKernelArg");
    }
    cl_int error = run->cl->EnqueueNDRangeKernel(run->queue, kernel, 3, NULL, all, local, run->waits.count,
                                                 rungi_opencl_wait_list(&run->waits), &event);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clEnqueueNDRangeKernel");
    keep_event(run, event);
    return RUNG_OK;
}

static rung_status send(void *user, rung_buffer *workspace, int64_t offset, int64_t bytes, const void *from)
{
    run_t *run = user;
    cl_event event;
    cl_int error = run->cl->EnqueueWriteBuffer(run->queue, ((rungi_opencl_buffer *)workspace)->memory, CL_FALSE,
                                               (size_t)(workspace->offset + offset), (size_t)bytes, from,
                                               run->waits.count, rungi_opencl_wait_list(&run->waits), &event);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clEnqueueWriteBuffer");
    keep_event(run, event);
    return RUNG_OK;
}

static rung_status launch_all(rung_plan *plan, run_t *run, const rung_problem *problem, rungi_sizes sizes,
                              const rung_run_options *options)
{
    opencl_plan_t *own = plan->state;
    rungi_simt_run launches = rungi_simt_run_of(plan, &own->work, problem, sizes, options);
    launches.user = run;
    launches.handle = handle_of;
    launches.launch = launch;
    launches.send = send;
    pthread_mutex_lock(&own->lock);
    rung_status status = rungi_simt_launch_all(&launches);
    pthread_mutex_unlock(&own->lock);
    return status;
}

rung_status rungi_opencl_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_sizes sizes,
                                  const rung_run_options *options)
{
    rungi_opencl_device *device = rungi_opencl_device_of(plan->device);
    opencl_plan_t *own = plan->state;
    run_t run = {.cl = device->cl, .plan = own, .queue = ((rungi_opencl_queue *)queue)->queue};
    if (sizes.m == 0 || sizes.n == 0)
        return rungi_opencl_submit_nothing(queue, options);
    if (own->is_vendor)
        return rungi_opencl_vendor_run(plan, &own->vendor, queue, problem, options);
    rungi_opencl_gather(options, &run.waits);
    rung_status status = launch_all(plan, &run, problem, sizes, options);
    if (status != RUNG_OK) {
        rungi_cl_release_event(device->cl, run.first);
        rungi_cl_release_event(device->cl, run.last);
        return status;
    }
    rungi_opencl_signal(device->cl, options, run.first, run.last);
    cl_int error = device->cl->Flush(run.queue);
    return error == CL_SUCCESS ? RUNG_OK : rungi_cl_fail(error, "clFlush");
}
