/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a compiled kernel, its launch shape, and its launches. */
#include "opencl/opencl.h"

#include <stdio.h>

#include "core/checked.h"
#include "opencl/vendor.h"

typedef struct opencl_plan {
    bool                is_vendor; /* then only the next counts */
    rungi_opencl_vendor vendor;
    pthread_mutex_t  lock; /* arguments belong to the kernel object, launches to threads */
    cl_kernel        kernel;
    rungi_simt_shape shape;
} opencl_plan;

/* ---- Making ------------------------------------------------------------------------------------ */

static rung_status check_threads(const rungi_opencl_device *device, const rung_kernel *kernel,
                                 int64_t threads)
{
    if (threads > device->base.info.max_threads_block)
        return rungi_fail(RUNG_UNSUPPORTED, "%s wants %lld threads a block; %s has at most %lld",
                          kernel->info.name, (long long)threads, device->base.info.name,
                          (long long)device->base.info.max_threads_block);
    return RUNG_OK;
}

/* Registers, shared memory and arguments are known only after compiling. */
static rung_status check_compiled(rungi_opencl_device *device, const rung_kernel *kernel,
                                  int64_t threads, cl_kernel compiled)
{
    cl_ulong shared = 0;
    cl_uint arguments = 0;
    size_t threads_max = 0;
    cl_int error = device->cl->GetKernelWorkGroupInfo(compiled, device->id, CL_KERNEL_LOCAL_MEM_SIZE,
                                                      sizeof shared, &shared, NULL);
    if (error == CL_SUCCESS)
        error = device->cl->GetKernelWorkGroupInfo(compiled, device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                                   sizeof threads_max, &threads_max, NULL);
    if (error == CL_SUCCESS)
        error = device->cl->GetKernelInfo(compiled, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments,
                                          NULL);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clGetKernelInfo");
    if ((int64_t)shared > device->base.info.shared_block)
        return rungi_fail(RUNG_UNSUPPORTED, "%s uses %lld bytes of shared memory a block; %s has %lld",
                          kernel->info.name, (long long)shared, device->base.info.name,
                          (long long)device->base.info.shared_block);
    if ((uint64_t)threads > threads_max)
        return rungi_fail(RUNG_UNSUPPORTED, "%s wants %lld threads a block; as compiled for %s it has "
                          "registers for %zu", kernel->info.name, (long long)threads,
                          device->base.info.name, threads_max);
    if (arguments != RUNGI_SIMT_ARGUMENTS)
        return rungi_fail(RUNG_INVALID, "%s takes %u arguments; a kernel takes the %d that dialect.h "
                          "lists", kernel->info.file, (unsigned)arguments, RUNGI_SIMT_ARGUMENTS);
    return RUNG_OK;
}

static rung_status make_kernel(rungi_opencl_device *device, const rung_plan *plan,
                               const rungi_simt_path *path, int64_t threads, cl_kernel *out)
{
    cl_program program;
    cl_int error;
    char name[RUNGI_SIMT_NAME + 1];
    const rung_kernel *kernel = plan->kernel;
    rung_status status = rungi_opencl_program_of(device, kernel, &plan->values, path, &program);
    if (status != RUNG_OK)
        return status;
    snprintf(name, sizeof name, "%.*s", (int)kernel->entry.length, kernel->entry.text);
    *out = device->cl->CreateKernel(program, name, &error);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clCreateKernel");
    rungi_cl_count(device->cl, RUNGI_CL_KERNEL);
    status = check_compiled(device, kernel, threads, *out);
    if (status != RUNG_OK)
        rungi_cl_release_kernel(device->cl, *out);
    return status;
}

static rung_status create_vendor_plan(rung_plan *plan)
{
    rungi_opencl_vendor vendor;
    rung_status status = rungi_opencl_vendor_create(plan, &vendor);
    if (status != RUNG_OK)
        return status;
    opencl_plan *own = rungi_new(plan->device->context, sizeof *own);
    if (!own)
        return RUNG_NO_MEMORY;
    own->is_vendor = true;
    own->vendor = vendor;
    plan->state = own;
    return RUNG_OK;
}

rung_status rungi_opencl_plan_create(rung_plan *plan)
{
    if (plan->kernel->step && plan->kernel->step->is_vendor)
        return create_vendor_plan(plan);
    rungi_opencl_device *device = rungi_opencl_device_of(plan->device);
    rungi_simt_shape shape;
    rungi_simt_path path;
    rung_problem turned = rungi_simt_turned(&plan->problem);
    rung_status status = rungi_simt_shape_of(plan->kernel, &plan->values, turned.c.rows, turned.c.cols,
                                             device->blocks_max, &shape);
    if (status == RUNG_OK)
        status = rungi_simt_path_of(plan->kernel, &plan->values, &turned, plan->aligned, &path);
    if (status == RUNG_OK)
        status = check_threads(device, plan->kernel, shape.threads);
    if (status != RUNG_OK)
        return status;
    opencl_plan *own = rungi_new(device->base.context, sizeof *own);
    if (!own)
        return RUNG_NO_MEMORY;
    own->shape = shape;
    status = make_kernel(device, plan, &path, shape.threads, &own->kernel);
    if (status == RUNG_OK && pthread_mutex_init(&own->lock, NULL) != 0) {
        rungi_cl_release_kernel(device->cl, own->kernel);
        status = rungi_fail(RUNG_NO_MEMORY, "no mutex could be made for a plan");
    }
    if (status != RUNG_OK) {
        rungi_release(device->base.context, own);
        return status;
    }
    plan->state = own;
    plan->needs_aligned = path.wide;
    plan->info.blocks = shape.blocks;
    plan->info.threads = shape.threads;
    return RUNG_OK;
}

void rungi_opencl_plan_destroy(rung_plan *plan)
{
    opencl_plan *own = plan->state;
    if (!own->is_vendor) {
        rungi_cl_release_kernel(rungi_opencl_device_of(plan->device)->cl, own->kernel);
        pthread_mutex_destroy(&own->lock);
    }
    rungi_release(plan->device->context, own);
}

/* ---- Running ----------------------------------------------------------------------------------- */

/* What one launch computes: rows x cols of C from (row, col) on. */
typedef struct launch {
    int64_t row, col, rows, cols;
} launch;

/* The view that begins at (row, col). */
static rungi_simt_view view_of(const rung_matrix *matrix, int64_t row, int64_t col)
{
    return (rungi_simt_view){
        .offset = rungi_opencl_offset(matrix) + row * matrix->row_stride + col * matrix->col_stride,
        .row_stride = matrix->row_stride,
        .col_stride = matrix->col_stride,
    };
}

static rung_status set_arguments(rungi_cl *cl, cl_kernel kernel, const rung_problem *problem,
                                 launch launch, int64_t k)
{
    cl_mem a = rungi_opencl_memory(&problem->a), b = rungi_opencl_memory(&problem->b);
    cl_mem c = rungi_opencl_memory(&problem->c);
    rungi_simt_view a_view = view_of(&problem->a, launch.row, 0);
    rungi_simt_view b_view = view_of(&problem->b, 0, launch.col);
    rungi_simt_view c_view = view_of(&problem->c, launch.row, launch.col);
    rungi_simt_scalar alpha = rungi_simt_scalar_of(problem->alpha, problem->c.type);
    rungi_simt_scalar beta = rungi_simt_scalar_of(problem->beta, problem->c.type);
    struct { const void *value; size_t size; } arguments[RUNGI_SIMT_ARGUMENTS] = {
        {&launch.rows, sizeof launch.rows}, {&launch.cols, sizeof launch.cols}, {&k, sizeof k},
        {&alpha, sizeof alpha}, {&a, sizeof a}, {&a_view, sizeof a_view},
        {&b, sizeof b}, {&b_view, sizeof b_view},
        {&beta, sizeof beta}, {&c, sizeof c}, {&c_view, sizeof c_view},
    };
    for (cl_uint i = 0; i < RUNGI_SIMT_ARGUMENTS; i++) {
        cl_int error = cl->SetKernelArg(kernel, i, arguments[i].size, arguments[i].value);
        if (error != CL_SUCCESS)
            return rungi_cl_fail(error, "clSetKernelArg");
    }
    return RUNG_OK;
}

static rung_status enqueue(rungi_cl *cl, const opencl_plan *plan, cl_command_queue queue,
                           launch launch, const rungi_opencl_waits *waits, cl_event *event)
{
    size_t threads = (size_t)plan->shape.threads;
    size_t blocks = (size_t)(rungi_divide_up(launch.rows, plan->shape.bm) *
                             rungi_divide_up(launch.cols, plan->shape.bn));
    size_t all = blocks * threads;
    cl_int error = cl->EnqueueNDRangeKernel(queue, plan->kernel, 1, NULL, &all, &threads, waits->count,
                                            rungi_opencl_wait_list(waits), event);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clEnqueueNDRangeKernel");
    rungi_cl_count(cl, RUNGI_CL_EVENT);
    return RUNG_OK;
}

/* The events of a run: the first launch's and the last one's. */
typedef struct run_events {
    cl_event first, last;
} run_events;

static void keep_event(rungi_cl *cl, run_events *events, cl_event event)
{
    if (!events->first) {
        if (cl->RetainEvent(event) == CL_SUCCESS) {
            events->first = event;
            rungi_cl_count(cl, RUNGI_CL_EVENT);
        }
    }
    rungi_cl_release_event(cl, events->last);
    events->last = event;
}

static int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* Under the plan's lock. */
static rung_status launch_all(rungi_cl *cl, const opencl_plan *plan, cl_command_queue queue,
                              const rung_problem *problem, rungi_sizes sizes,
                              const rungi_opencl_waits *waits, run_events *events)
{
    const rungi_simt_shape *shape = &plan->shape;
    for (int64_t row = 0; row < sizes.m; row += shape->rows) {
        for (int64_t col = 0; col < sizes.n; col += shape->cols) {
            launch launch = {row, col, smaller(shape->rows, sizes.m - row),
                             smaller(shape->cols, sizes.n - col)};
            cl_event event;
            rung_status status = set_arguments(cl, plan->kernel, problem, launch, sizes.k);
            if (status == RUNG_OK)
                status = enqueue(cl, plan, queue, launch, waits, &event);
            if (status != RUNG_OK)
                return status;
            keep_event(cl, events, event);
        }
    }
    return RUNG_OK;
}

rung_status rungi_opencl_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                  rungi_sizes sizes, const rung_run_options *options)
{
    rungi_opencl_device *device = rungi_opencl_device_of(plan->device);
    cl_command_queue native = ((rungi_opencl_queue *)queue)->queue;
    opencl_plan *own = plan->state;
    rungi_opencl_waits waits;
    run_events events = {NULL, NULL};
    rung_problem turned = rungi_simt_turned(problem);
    sizes.m = turned.c.rows;
    sizes.n = turned.c.cols;
    if (sizes.m == 0 || sizes.n == 0)
        return rungi_opencl_submit_nothing(queue, options);
    if (own->is_vendor)
        return rungi_opencl_vendor_run(plan, &own->vendor, queue, problem, options);
    rungi_opencl_gather(options, &waits);

    pthread_mutex_lock(&own->lock);
    rung_status status = launch_all(device->cl, own, native, &turned, sizes, &waits, &events);
    pthread_mutex_unlock(&own->lock);
    if (status != RUNG_OK) {
        rungi_cl_release_event(device->cl, events.first);
        rungi_cl_release_event(device->cl, events.last);
        return status;
    }
    rungi_opencl_signal(device->cl, options, events.first, events.last);
    cl_int error = device->cl->Flush(native);
    return error == CL_SUCCESS ? RUNG_OK : rungi_cl_fail(error, "clFlush");
}
