/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a compiled kernel, its launch shape, and its launches. */
#include "opencl/opencl.h"

#include <stdio.h>

#include "core/checked.h"
#include "core/problem.h"
#include "opencl/vendor.h"

typedef struct opencl_plan {
    bool                is_vendor; /* then only the next counts */
    rungi_opencl_vendor vendor;
    pthread_mutex_t  lock; /* arguments belong to the kernel object, launches to threads */
    cl_kernel        kernel;
    cl_kernel        reduce; /* NULL unless k is cut */
    rungi_simt_shape shape, reduce_shape;
    rungi_simt_split split;
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
    if ((int)arguments != rungi_simt_arguments(kernel))
        return rungi_fail(RUNG_INVALID, "%s takes %u arguments; a kernel takes the %d that dialect.h "
                          "lists, and with finish.h its five more", kernel->info.file,
                          (unsigned)arguments, RUNGI_SIMT_ARGUMENTS);
    return RUNG_OK;
}

static rung_status make_kernel(rungi_opencl_device *device, const rung_kernel *kernel,
                               const rungi_values *values, const rungi_simt_path *path,
                               int64_t threads, cl_kernel *out)
{
    cl_program program;
    cl_int error;
    char name[RUNGI_SIMT_NAME + 1];
    rung_status status = rungi_opencl_program_of(device, kernel, values, path, &program);
    if (status != RUNG_OK)
        return status;
    snprintf(name, sizeof name, "%.*s", (int)kernel->entry.length, kernel->entry.text);
    *out = device->cl->CreateKernel(program, name, &error);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clCreateKernel");
    rungi_cl_count(device->cl, RUNGI_CL_KERNEL);
    status = check_compiled(device, kernel, threads, *out);
    if (status != RUNG_OK) {
        rungi_cl_release_kernel(device->cl, *out);
        *out = NULL;
    }
    return status;
}

/* The second half of a plan whose k is cut: adds up the shares. */
static rung_status make_reduce(rungi_opencl_device *device, const rung_plan *plan,
                               rungi_simt_path path, opencl_plan *own)
{
    rung_kernel *kernel;
    rungi_values values;
    rung_problem turned = rungi_simt_turned(&plan->problem);
    int64_t elements;
    rung_status status = rungi_simt_reduce(plan, &kernel);
    if (status != RUNG_OK)
        return status;
    path.has_paths = path.split = false;
    rungi_multiply(turned.c.rows, turned.c.cols, &elements); /* the workspace holds as many */
    status = rungi_kernel_values(kernel, NULL, rung_type_size(path.in), &values);
    if (status == RUNG_OK)
        status = rungi_simt_shape_of(kernel, &values, 1, elements, device->blocks_max,
                                     &own->reduce_shape);
    if (status == RUNG_OK)
        status = make_kernel(device, kernel, &values, &path, own->reduce_shape.threads, &own->reduce);
    rung_kernel_destroy(kernel);
    return status;
}

static rung_status make_kernels(rungi_opencl_device *device, const rung_plan *plan,
                                const rungi_simt_path *path, opencl_plan *own)
{
    rung_status status = make_kernel(device, plan->kernel, &plan->values, path, own->shape.threads,
                                     &own->kernel);
    if (status == RUNG_OK && path->split)
        status = make_reduce(device, plan, *path, own);
    return status;
}

/* How k is cut, which the kernel's step along it says; a kernel that says none is not. */
static rung_status split_of(const rung_plan *plan, const rung_problem *turned,
                            const rungi_simt_shape *shape, rungi_simt_split *split)
{
    int64_t bk = INT64_MAX;
    bool whole = shape->rows >= turned->c.rows && shape->cols >= turned->c.cols;
    if (plan->kernel->info.abilities & RUNG_SPLIT) {
        rung_status status = rungi_kernel_number(plan->kernel, &plan->values, rungi_slice_of("BK", 2), &bk);
        if (status != RUNG_OK || bk < 1)
            return rungi_fail(RUNG_INVALID, "%s must say its step along k, #define BK",
                              plan->kernel->info.file);
    }
    return rungi_simt_split_of(plan, turned, shape->blocks, bk, whole, split);
}

static void free_plan(rungi_opencl_device *device, opencl_plan *own)
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
    opencl_plan *own = rungi_new(plan->device->context, sizeof *own);
    if (!own)
        return RUNG_NO_MEMORY;
    own->is_vendor = true;
    own->vendor = vendor;
    plan->state = own;
    return RUNG_OK;
}

static rung_status fill_plan(rungi_opencl_device *device, rung_plan *plan, opencl_plan *own)
{
    rungi_simt_path path;
    rung_problem turned = rungi_simt_turned(&plan->problem);
    if (turned.a.type == RUNG_F64 && !device->has_f64)
        return rungi_fail(RUNG_UNSUPPORTED, "%s: %s has no 64-bit floating point", plan->kernel->info.name,
                          device->base.info.name);
    rung_status status = rungi_simt_shape_of(plan->kernel, &plan->values, turned.c.rows, turned.c.cols,
                                             device->blocks_max, &own->shape);
    if (status == RUNG_OK)
        status = rungi_simt_path_of(plan->kernel, &plan->values, &turned, plan->aligned, &path);
    if (status == RUNG_OK)
        status = check_threads(device, plan->kernel, own->shape.threads);
    if (status == RUNG_OK)
        status = split_of(plan, &turned, &own->shape, &own->split);
    if (status != RUNG_OK)
        return status;
    path.split = own->split.splits > 1;
    status = make_kernels(device, plan, &path, own);
    if (status == RUNG_OK && pthread_mutex_init(&own->lock, NULL) != 0)
        status = rungi_fail(RUNG_NO_MEMORY, "no mutex could be made for a plan");
    plan->needs_aligned = path.wide;
    return status;
}

rung_status rungi_opencl_plan_create(rung_plan *plan)
{
    if (plan->kernel->step && plan->kernel->step->is_vendor)
        return create_vendor_plan(plan);
    rungi_opencl_device *device = rungi_opencl_device_of(plan->device);
    opencl_plan *own = rungi_new(device->base.context, sizeof *own);
    if (!own)
        return RUNG_NO_MEMORY;
    rung_status status = fill_plan(device, plan, own);
    if (status != RUNG_OK) {
        free_plan(device, own);
        return status;
    }
    plan->state = own;
    plan->info.splits = own->split.splits;
    plan->info.workspace = own->split.workspace;
    plan->info.threads = own->shape.threads;
    if (!rungi_multiply(own->shape.blocks, plan->problem.batch, &plan->info.blocks) ||
        !rungi_multiply(plan->info.blocks, own->split.splits, &plan->info.blocks))
        plan->info.blocks = INT64_MAX;
    return RUNG_OK;
}

void rungi_opencl_plan_destroy(rung_plan *plan)
{
    opencl_plan *own = plan->state;
    if (!own->is_vendor)
        pthread_mutex_destroy(&own->lock);
    free_plan(rungi_opencl_device_of(plan->device), own);
}

/* ---- Running ----------------------------------------------------------------------------------- */

/* What one launch computes: rows x cols of C from (row, col) on, for some of the items. */
typedef struct launch {
    int64_t row, col, rows, cols, item, items;
} launch;

/* One run of a plan. */
typedef struct run {
    rungi_cl           *cl;
    const opencl_plan  *plan;
    cl_command_queue    queue;
    rung_problem        problem; /* turned */
    rungi_sizes         sizes;
    int64_t             shares; /* of k: one where k is not to be read */
    rung_buffer        *workspace;
    rungi_opencl_waits  waits;
    cl_event            first, last; /* of its commands */
} run;

/* The view that begins at (row, col) of an item. */
static rungi_simt_view view_of(const rung_matrix *matrix, int64_t row, int64_t col, int64_t item)
{
    bool scattered = matrix->batch_offsets != NULL;
    return (rungi_simt_view){
        .offset = rungi_opencl_offset(matrix) + row * matrix->row_stride + col * matrix->col_stride +
                  (scattered ? 0 : item * matrix->batch_stride),
        .row_stride = matrix->row_stride,
        .col_stride = matrix->col_stride,
        .batch_stride = scattered ? 0 : matrix->batch_stride,
    };
}

static rungi_simt_extra extra_of(const run *run, launch launch)
{
    const rung_problem *problem = &run->problem;
    const rungi_simt_split *split = &run->plan->split;
    int64_t start = run->workspace ? run->workspace->offset : 0;
    /* k is 0 where A and B are not to be read. */
    int64_t k_share = run->sizes.k < split->k_share ? run->sizes.k : split->k_share;
    return (rungi_simt_extra){
        .batch = problem->batch,
        .first_item = launch.item,
        .splits = run->shares,
        .k_share = k_share,
        .scattered = (problem->a.batch_offsets ? 1 : 0) | (problem->b.batch_offsets ? 2 : 0) |
                     (problem->c.batch_offsets ? 4 : 0),
        .places_offset = start / (int64_t)sizeof(int64_t),
        .partials_offset = (start + split->partials) / rung_type_size(rungi_problem_sum_type(problem)),
        .bias = view_of(&problem->epilogue.bias, launch.row, launch.col, launch.item),
        .residual = view_of(&problem->epilogue.residual, launch.row, launch.col, launch.item),
    };
}

static rung_status set_arguments(const run *run, cl_kernel kernel, int count, launch launch)
{
    const rung_problem *problem = &run->problem;
    cl_mem a = rungi_opencl_memory(&problem->a), b = rungi_opencl_memory(&problem->b);
    cl_mem c = rungi_opencl_memory(&problem->c);
    cl_mem bias = rungi_opencl_memory(&problem->epilogue.bias);
    cl_mem residual = rungi_opencl_memory(&problem->epilogue.residual);
    cl_mem workspace = run->workspace ? ((rungi_opencl_buffer *)run->workspace)->memory : NULL;
    rungi_simt_view a_view = view_of(&problem->a, launch.row, 0, launch.item);
    rungi_simt_view b_view = view_of(&problem->b, 0, launch.col, launch.item);
    rungi_simt_view c_view = view_of(&problem->c, launch.row, launch.col, launch.item);
    rung_type sum = rungi_problem_sum_type(problem);
    rungi_simt_scalar alpha = rungi_simt_scalar_of(problem->alpha, sum);
    rungi_simt_scalar beta = rungi_simt_scalar_of(problem->beta, sum);
    size_t scalar = (size_t)rung_type_size(sum);
    rungi_simt_extra extra = extra_of(run, launch);
    int64_t k = run->sizes.k;
    struct { const void *value; size_t size; } arguments[RUNGI_SIMT_ALL_ARGUMENTS] = {
        {&launch.rows, sizeof launch.rows}, {&launch.cols, sizeof launch.cols}, {&k, sizeof k},
        {&alpha, scalar}, {&a, sizeof a}, {&a_view, sizeof a_view}, {&b, sizeof b},
        {&b_view, sizeof b_view}, {&beta, scalar}, {&c, sizeof c}, {&c_view, sizeof c_view},
        {&extra, sizeof extra}, {&workspace, sizeof workspace}, {&bias, sizeof bias},
        {&residual, sizeof residual}, {&workspace, sizeof workspace},
    };
    for (int i = 0; i < count; i++) {
        cl_int error = run->cl->SetKernelArg(kernel, (cl_uint)i, arguments[i].size, arguments[i].value);
        if (error != CL_SUCCESS)
            return rungi_cl_fail(error, "clSetKernelArg");
    }
    return RUNG_OK;
}

/* Keeps the first command's event and the last one's; the reference becomes the run's. */
static void keep_event(run *run, cl_event event)
{
    rungi_cl_count(run->cl, RUNGI_CL_EVENT);
    if (!run->first && run->cl->RetainEvent(event) == CL_SUCCESS) {
        run->first = event;
        rungi_cl_count(run->cl, RUNGI_CL_EVENT);
    }
    rungi_cl_release_event(run->cl, run->last);
    run->last = event;
}

/* blocks x items x shares, all of the same threads. */
static rung_status enqueue(run *run, cl_kernel kernel, int64_t threads, int64_t blocks, int64_t items,
                           int64_t shares)
{
    size_t local[] = {(size_t)threads, 1, 1};
    size_t all[] = {(size_t)(blocks * threads), (size_t)items, (size_t)shares};
    cl_event event;
    cl_int error = run->cl->EnqueueNDRangeKernel(run->queue, kernel, 3, NULL, all, local,
                                                 run->waits.count, rungi_opencl_wait_list(&run->waits),
                                                 &event);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clEnqueueNDRangeKernel");
    keep_event(run, event);
    return RUNG_OK;
}

/* The sums of some items, and where k is cut, their shares put together. */
static rung_status launch_items(run *run, launch launch, int arguments)
{
    const opencl_plan *plan = run->plan;
    int64_t blocks = rungi_divide_up(launch.rows, plan->shape.bm) *
                     rungi_divide_up(launch.cols, plan->shape.bn);
    rung_status status = set_arguments(run, plan->kernel, arguments, launch);
    if (status == RUNG_OK)
        status = enqueue(run, plan->kernel, plan->shape.threads, blocks, launch.items, run->shares);
    if (status == RUNG_OK && plan->reduce) {
        status = set_arguments(run, plan->reduce, RUNGI_SIMT_ALL_ARGUMENTS, launch);
        if (status == RUNG_OK)
            status = enqueue(run, plan->reduce, plan->reduce_shape.threads, plan->reduce_shape.blocks,
                             launch.items, 1);
    }
    return status;
}

/* Under the plan's lock. */
static rung_status launch_all(run *run, int arguments)
{
    const rungi_simt_shape *shape = &run->plan->shape;
    rungi_sizes sizes = run->sizes;
    for (int64_t item = 0; item < sizes.batch; item += RUNGI_SIMT_ITEMS_MAX)
        for (int64_t row = 0; row < sizes.m; row += shape->rows)
            for (int64_t col = 0; col < sizes.n; col += shape->cols) {
                launch launch = {row, col, rungi_smaller(shape->rows, sizes.m - row),
                                 rungi_smaller(shape->cols, sizes.n - col), item,
                                 rungi_smaller(RUNGI_SIMT_ITEMS_MAX, sizes.batch - item)};
                rung_status status = launch_items(run, launch, arguments);
                if (status != RUNG_OK)
                    return status;
            }
    return RUNG_OK;
}

/* Brings the places of scattered items to the workspace. */
static rung_status send_places(run *run)
{
    const rung_problem *problem = &run->problem;
    const int64_t *offsets[] = {problem->a.batch_offsets, problem->b.batch_offsets,
                                problem->c.batch_offsets};
    size_t bytes = (size_t)problem->batch * sizeof(int64_t);
    for (int i = 0; i < 3; i++) {
        cl_event event;
        if (!offsets[i])
            continue;
        cl_int error = run->cl->EnqueueWriteBuffer(
            run->queue, ((rungi_opencl_buffer *)run->workspace)->memory, CL_FALSE,
            (size_t)run->workspace->offset + (size_t)i * bytes, bytes, offsets[i], run->waits.count,
            rungi_opencl_wait_list(&run->waits), &event);
        if (error != CL_SUCCESS)
            return rungi_cl_fail(error, "clEnqueueWriteBuffer");
        keep_event(run, event);
    }
    return RUNG_OK;
}

rung_status rungi_opencl_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                  rungi_sizes sizes, const rung_run_options *options)
{
    rungi_opencl_device *device = rungi_opencl_device_of(plan->device);
    opencl_plan *own = plan->state;
    run run = {.cl = device->cl, .plan = own, .queue = ((rungi_opencl_queue *)queue)->queue,
               .problem = rungi_simt_turned(problem), .sizes = sizes,
               .shares = sizes.k == 0 ? 1 : own->split.splits,
               .workspace = plan->info.workspace > 0 ? options->workspace : NULL};
    run.sizes.m = run.problem.c.rows;
    run.sizes.n = run.problem.c.cols;
    if (sizes.m == 0 || sizes.n == 0 || sizes.batch == 0)
        return rungi_opencl_submit_nothing(queue, options);
    if (own->is_vendor)
        return rungi_opencl_vendor_run(plan, &own->vendor, queue, problem, options);
    rungi_opencl_gather(options, &run.waits);

    pthread_mutex_lock(&own->lock);
    rung_status status = send_places(&run);
    if (status == RUNG_OK)
        status = launch_all(&run, rungi_simt_arguments(plan->kernel));
    pthread_mutex_unlock(&own->lock);
    if (status != RUNG_OK) {
        rungi_cl_release_event(device->cl, run.first);
        rungi_cl_release_event(device->cl, run.last);
        return status;
    }
    rungi_opencl_signal(device->cl, options, run.first, run.last);
    cl_int error = device->cl->Flush(run.queue);
    return error == CL_SUCCESS ? RUNG_OK : rungi_cl_fail(error, "clFlush");
}
