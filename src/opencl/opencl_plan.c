/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_plan.c - plans of the OpenCL device: compiles the kernel of a plan and launches it on a queue. */
#include "opencl/opencl_device.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/try.h"
#include "opencl/clblast.h"

typedef struct opencl_plan {
    bool is_library; /* 00_vendor: only `clblast` is used */
    rungi_clblast_plan clblast;
    pthread_mutex_t lock; /* a kernel object holds the arguments, and several threads may launch it */
    cl_kernel kernel;
    cl_kernel reduce; /* NULL without split-K */
    rungi_simt_plan simt;
} opencl_plan_t;

/* ---- Creating ---------------------------------------------------------------------------------- */

/* Checks registers, shared memory and arguments, which are known only after compiling. */
static rung_status check_compiled(rungi_opencl_device *device, const rung_kernel *kernel, int64_t threads,
                                  cl_kernel compiled, int64_t *shared_bytes)
{
    cl_ulong shared = 0;
    cl_uint arguments = 0;
    size_t threads_max = 0;
    TRY(rungi_cl_check(device->cl->GetKernelWorkGroupInfo(compiled, device->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof shared,
                                                          &shared, NULL),
                       "clGetKernelInfo"));
    TRY(rungi_cl_check(device->cl->GetKernelWorkGroupInfo(compiled, device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                                          sizeof threads_max, &threads_max, NULL),
                       "clGetKernelInfo"));
    TRY(RUNGI_CL_CALL(device->cl, GetKernelInfo, compiled, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL));
    *shared_bytes = (int64_t)shared;
    TRY(rungi_simt_check_compiled(&device->base, kernel, threads, (int64_t)threads_max, *shared_bytes));
    if ((int)arguments != rungi_simt_argument_count(kernel))
        return rungi_invalid(
            "%s has %u arguments instead of %d; a kernel has the %d arguments that dialect.h lists, with "
            "epilogue.h five more, and with engine.h another one",
            kernel->info.file, (unsigned)arguments, rungi_simt_argument_count(kernel), RUNGI_SIMT_BASE_ARGUMENTS);
    return RUNG_OK;
}

static rung_status make_kernel(rungi_opencl_device *device, const rung_kernel *kernel,
                               const rungi_parameter_values *values, const rungi_simt_path *path, int64_t threads,
                               cl_kernel *out, int64_t *shared_bytes)
{
    cl_program program;
    cl_int error;
    char name[RUNGI_SIMT_ENTRY_NAME_MAX + 1];
    TRY(rungi_opencl_program_of(device, kernel, values, path, &program));
    RUNGI_ASSERT(kernel->entry.length > 0 && kernel->entry.length < sizeof name); /* rungi_simt_shape_init() */
    snprintf(name, sizeof name, "%.*s", (int)kernel->entry.length, kernel->entry.text);
    *out = device->cl->CreateKernel(program, name, &error);
    TRY(rungi_cl_check(error, "clCreateKernel"));
    rungi_cl_track(device->cl, RUNGI_CL_KERNEL);
    rung_status status = check_compiled(device, kernel, threads, *out, shared_bytes);
    if (status != RUNG_OK) {
        rungi_cl_release_kernel(device->cl, *out);
        *out = NULL;
    }
    return status;
}

/* Creates the kernel that adds the slices of split-K. */
static rung_status make_reduce(rungi_opencl_device *device, const rung_plan *plan, opencl_plan_t *own)
{
    rung_kernel *kernel;
    rungi_parameter_values values;
    rungi_simt_path path;
    int64_t shared_bytes;
    TRY(rungi_simt_reduction_init(plan, device->blocks_max, &own->simt, &kernel, &values, &path));
    rung_status status = make_kernel(device, kernel, &values, &path, own->simt.reduce_shape.threads, &own->reduce,
                                     &shared_bytes);
    rung_kernel_destroy(kernel);
    return status;
}

static void free_plan(rungi_opencl_device *device, opencl_plan_t *own)
{
    rungi_cl_release_kernel(device->cl, own->kernel);
    rungi_cl_release_kernel(device->cl, own->reduce);
    rungi_release(device->base.context, own);
}

static rung_status fill_plan(rungi_opencl_device *device, rung_plan *plan, opencl_plan_t *own)
{
    if (own->is_library)
        return rungi_clblast_plan_create(plan, &own->clblast);
    if (plan->problem.a.type == RUNG_F64 && !device->has_f64)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s has no 64-bit floating point", plan->kernel->info.name,
                          device->base.info.name);
    if (plan->kernel->info.only_sm > 0)
        return rungi_kernel_reject_backend(plan->kernel);
    TRY(rungi_simt_plan_init(plan, device->blocks_max, &own->simt));
    const rungi_simt_narrow *narrow = &own->simt.path.narrow_b;
    if ((narrow->scale_type == RUNG_F64 || narrow->zero_type == RUNG_F64) && !device->has_f64)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s: the scales or zero points of B are f64, and %s has no 64-bit floating point; use f32",
                          plan->kernel->info.name, device->base.info.name);
    TRY(make_kernel(device, plan->kernel, &plan->values, &own->simt.path, own->simt.shape.threads, &own->kernel,
                    &plan->block_shared_bytes));
    if (own->simt.path.split)
        TRY(make_reduce(device, plan, own));
    if (pthread_mutex_init(&own->lock, NULL) != 0)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "cannot create a mutex for the plan");
    return RUNG_OK;
}

rung_status rungi_opencl_plan_create(rung_plan *plan)
{
    rungi_opencl_device *device = rungi_opencl_device_of(plan->device);
    opencl_plan_t *own = rungi_allocate_zeroed(device->base.context, sizeof *own);
    if (!own)
        return RUNG_STATUS_NO_MEMORY;
    own->is_library = plan->kernel->step && plan->kernel->step->is_vendor;
    rung_status status = fill_plan(device, plan, own);
    if (status == RUNG_OK)
        plan->state = own;
    else
        free_plan(device, own);
    return status;
}

void rungi_opencl_plan_destroy(rung_plan *plan)
{
    opencl_plan_t *own = plan->state;
    if (!own->is_library)
        pthread_mutex_destroy(&own->lock);
    free_plan(rungi_opencl_device_of(plan->device), own);
}

/* ---- Running ----------------------------------------------------------------------------------- */

/* One run of a plan. */
typedef struct opencl_run {
    rungi_cl *cl;
    const opencl_plan_t *plan;
    cl_command_queue queue;
    rungi_opencl_waits waits;
    cl_event first, last; /* of the run's commands */
} opencl_run_t;

static uintptr_t handle_of(const rung_buffer *buffer)
{
    return (uintptr_t)((const rungi_opencl_buffer *)buffer)->memory;
}

/* Retains the events of the first and the last command. Takes over the caller's reference. */
static void record_event(opencl_run_t *run, cl_event event)
{
    rungi_cl_track(run->cl, RUNGI_CL_EVENT);
    if (!run->first && run->cl->RetainEvent(event) == CL_SUCCESS) {
        run->first = event;
        rungi_cl_track(run->cl, RUNGI_CL_EVENT);
    }
    rungi_cl_release_event(run->cl, run->last);
    run->last = event;
}

static rung_status launch(void *device_state, const rungi_simt_launch *launch)
{
    opencl_run_t *run = device_state;
    cl_kernel kernel = launch->is_reduction ? run->plan->reduce : run->plan->kernel;
    size_t local[] = {(size_t)launch->threads, 1, 1};
    size_t all[] = {(size_t)(launch->blocks * launch->threads), (size_t)launch->items, (size_t)launch->slices};
    cl_event event;
    RUNGI_ASSERT(kernel && launch->count <= RUNGI_SIMT_ARGUMENTS_MAX && launch->blocks > 0);
    for (int i = 0; i < launch->count; i++)
        TRY(RUNGI_CL_CALL(run->cl, SetKernelArg, kernel, (cl_uint)i, launch->arguments[i].size,
                          launch->arguments[i].value));
    TRY(RUNGI_CL_CALL(run->cl, EnqueueNDRangeKernel, run->queue, kernel, 3, NULL, all, local, run->waits.count,
                      run->waits.list, &event));
    record_event(run, event);
    return RUNG_OK;
}

static rung_status upload(void *device_state, rung_buffer *workspace, int64_t offset, int64_t bytes, const void *from)
{
    opencl_run_t *run = device_state;
    cl_event event;
    TRY(RUNGI_CL_CALL(run->cl, EnqueueWriteBuffer, run->queue, ((rungi_opencl_buffer *)workspace)->memory, CL_FALSE,
                      (size_t)(workspace->offset + offset), (size_t)bytes, from, run->waits.count, run->waits.list,
                      &event));
    record_event(run, event);
    return RUNG_OK;
}

/* Ends the submission of a run: signals the event of the options, or releases the run's events after a failure. */
static rung_status end_run(opencl_run_t *run, const rung_run_options *options, rung_status status)
{
    if (status != RUNG_OK) {
        bool was_submitted = run->last != NULL;
        rungi_cl_release_event(run->cl, run->first);
        rungi_cl_release_event(run->cl, run->last);
        return was_submitted ? rungi_cl_status_submitted(status) : status;
    }
    rungi_opencl_signal(run->cl, options, run->first, run->last);
    return rungi_cl_status_submitted(RUNGI_CL_CALL(run->cl, Flush, run->queue));
}

rung_status rungi_opencl_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                  rungi_gemm_sizes sizes, const rung_run_options *options)
{
    rungi_opencl_device *device = rungi_opencl_device_of(plan->device);
    opencl_plan_t *own = plan->state;
    opencl_run_t run = {.cl = device->cl, .plan = own, .queue = rungi_opencl_native_queue(queue)};
    if (sizes.m == 0 || sizes.n == 0)
        return rungi_opencl_submit_marker(queue, options);
    if (own->is_library)
        return rungi_clblast_plan_run(plan, &own->clblast, queue, problem, options);
    rungi_simt_run launches = {
        .simt = &own->simt, .device_state = &run, .handle = handle_of, .launch = launch, .upload = upload};
    rungi_opencl_waits_collect(options, &run.waits);
    pthread_mutex_lock(&own->lock);
    rung_status status = rungi_simt_launch_all(&launches, plan, problem, sizes, options);
    pthread_mutex_unlock(&own->lock);
    return end_run(&run, options, status);
}

rung_status rungi_opencl_group_run(rung_plan *plan, rung_queue *queue, void *table, const rung_run_options *options)
{
    opencl_plan_t *own = plan->state;
    opencl_run_t run = {
        .cl = rungi_opencl_device_of(plan->device)->cl, .plan = own, .queue = rungi_opencl_native_queue(queue)};
    rungi_simt_run launches = {
        .simt = &own->simt, .device_state = &run, .handle = handle_of, .launch = launch, .upload = upload};
    rungi_opencl_waits_collect(options, &run.waits);
    pthread_mutex_lock(&own->lock);
    rung_status status = rungi_simt_launch_group(&launches, plan, table, options);
    pthread_mutex_unlock(&own->lock);
    return end_run(&run, options, status);
}
