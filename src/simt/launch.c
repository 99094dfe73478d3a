/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - see launch.h. */
#include "simt/launch.h"

#include "core/assert.h"
#include "core/checked.h"
#include "core/matrix.h"
#include "core/problem.h"

/* ---- Making -------------------------------------------------------------------------------------- */

static rung_status check_threads(const rung_device *device, const rung_kernel *kernel, int64_t threads)
{
    if (threads > device->info.max_threads_per_block)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s wants %lld threads a block; %s has at most %lld",
                          kernel->info.name, (long long)threads, device->info.name,
                          (long long)device->info.max_threads_per_block);
    return RUNG_OK;
}

/* Most files do not say how much shared memory they want: it is known when compiled. */
static rung_status check_shared(const rung_plan *plan, int64_t *bytes)
{
    const rung_device_info *info = &plan->device->info;
    rungi_error before;
    rungi_error_save(&before);
    if (rungi_kernel_number(plan->kernel, &plan->values, rungi_slice_of("SHARED_BYTES", 12), bytes) != RUNG_OK)
        *bytes = 0;
    rungi_error_restore(&before);
    if (*bytes > info->shared_bytes_per_block && info->shared_bytes_per_block > 0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s uses %lld bytes of shared memory a block; %s has %lld",
                          plan->kernel->info.name, (long long)*bytes, info->name,
                          (long long)info->shared_bytes_per_block);
    return RUNG_OK;
}

/* Leaves the sums in the workspace, with k in one share, for reduce.cu to finish. */
static rung_status keep_sums(const rung_problem *turned, rungi_simt_work *work)
{
    if (work->shape.rows < turned->c.rows || work->shape.cols < turned->c.cols)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "C, %lld x %lld, is too large for an epilogue that is not compiled "
                          "into the kernel",
                          (long long)turned->c.rows, (long long)turned->c.cols);
    return rungi_simt_one_share(turned, &work->split);
}

/* How k is cut, which the kernel's step along it says; a kernel that says none is not. */
static rung_status split_of(const rung_plan *plan, const rung_problem *turned, rungi_simt_work *work)
{
    int64_t bk = INT64_MAX;
    bool whole = work->shape.rows >= turned->c.rows && work->shape.cols >= turned->c.cols;
    if (plan->kernel->info.abilities & RUNG_ABILITY_SPLIT_K) {
        rung_status status = rungi_kernel_number(plan->kernel, &plan->values, rungi_slice_of("BK", 2), &bk);
        if (status != RUNG_OK || bk < 1)
            return rungi_fail(RUNG_STATUS_INVALID, "%s must say its step along k, #define BK", plan->kernel->info.file);
    }
    rung_status status = rungi_simt_split_of(plan, turned, work->shape.blocks, bk, whole, &work->split);
    if (status == RUNG_OK && work->path.addend && work->split.splits == 1)
        status = keep_sums(turned, work);
    return status;
}

static void fill_info(rung_plan *plan, const rungi_simt_work *work)
{
    plan->needs_aligned = !work->path.wide ? 0 : work->path.by_chunks ? RUNGI_AT_16_BYTES : RUNGI_AT_FOURS;
    plan->info.split_k = work->split.splits;
    plan->info.workspace_bytes = work->split.workspace;
    plan->info.threads = work->shape.threads;
    if (!rungi_multiply(work->shape.blocks, plan->problem.batch, &plan->info.blocks) ||
        !rungi_multiply(plan->info.blocks, work->split.splits, &plan->info.blocks))
        plan->info.blocks = INT64_MAX;
}

/* What a matrix engine in software exchanges goes behind the rest. */
static rung_status add_scratch(const rung_plan *plan, rungi_simt_work *work)
{
    rungi_simt_split *split = &work->split;
    int64_t bytes;
    if (plan->kernel->info.engine != RUNG_ENGINE_EMULATED)
        return RUNG_OK;
    split->scratch = rungi_divide_up(split->workspace, 16) * 16;
    if (!rungi_multiply(work->shape.blocks, plan->problem.batch, &bytes) ||
        !rungi_multiply(bytes, split->splits, &bytes) || !rungi_multiply(bytes, work->shape.threads, &bytes) ||
        !rungi_multiply(bytes, RUNGI_SIMT_SCRATCH_BYTES, &bytes) ||
        !rungi_add(bytes, split->scratch, &split->workspace))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s, in software, would need too much memory for its exchange",
                          plan->kernel->info.name);
    return RUNG_OK;
}

rung_status rungi_simt_work_of(rung_plan *plan, int64_t blocks_max, rungi_simt_work *work)
{
    rung_problem turned = rungi_simt_turned(&plan->problem);
    rung_status status = rungi_simt_shape_of(plan->kernel, &plan->values, turned.c.rows, turned.c.cols, blocks_max,
                                             &work->shape);
    if (status == RUNG_OK)
        status = rungi_simt_path_of(plan->kernel, &plan->values, &turned, plan->aligned, &work->path);
    if (status == RUNG_OK) {
        plan->block_threads = work->shape.threads;
        status = check_threads(plan->device, plan->kernel, work->shape.threads);
    }
    if (status == RUNG_OK) {
        status = check_shared(plan, &work->shared_bytes);
        plan->block_shared_bytes = work->shared_bytes;
    }
    if (status == RUNG_OK)
        status = split_of(plan, &turned, work);
    if (status == RUNG_OK)
        status = add_scratch(plan, work);
    if (status != RUNG_OK)
        return status;
    work->path.split = work->split.splits > 1 || work->path.addend; /* which reduce.cu alone reads */
    work->arguments = rungi_simt_arguments(plan->kernel);
    fill_info(plan, work);
    return RUNG_OK;
}

rung_status rungi_simt_finish_apart(rung_plan *plan, rungi_simt_work *work)
{
    rung_problem turned = rungi_simt_turned(&plan->problem);
    rung_status status = keep_sums(&turned, work);
    work->path.split = true;
    fill_info(plan, work);
    return status;
}

rung_status rungi_simt_reduce_of(const rung_plan *plan, int64_t blocks_max, rungi_simt_work *work, rung_kernel **kernel,
                                 rungi_values *values, rungi_simt_path *path)
{
    rung_problem turned = rungi_simt_turned(&plan->problem);
    int64_t elements;
    rung_status status = rungi_simt_reduce(plan, kernel);
    if (status != RUNG_OK)
        return status;
    *path = work->path;
    path->has_paths = path->split = false;
    rungi_multiply(turned.c.rows, turned.c.cols, &elements); /* the workspace holds as many */
    status = rungi_kernel_values(*kernel, NULL, rung_type_size(path->in), values);
    if (status == RUNG_OK)
        status = rungi_simt_shape_of(*kernel, values, 1, elements, blocks_max, &work->reduce_shape);
    if (status != RUNG_OK)
        rung_kernel_destroy(*kernel);
    return status;
}

/* ---- Running ------------------------------------------------------------------------------------- */

/* What one launch computes: rows x cols of C from (row, col) on, for some of the items. */
typedef struct part {
    int64_t row, col, rows, cols, item, items;
} part_t;

rungi_simt_run rungi_simt_run_of(const rung_plan *plan, const rungi_simt_work *work, const rung_problem *problem,
                                 rungi_sizes sizes, const rung_run_options *options)
{
    rungi_simt_run run = {.work = work,
                          .problem = rungi_simt_turned(problem),
                          .sizes = sizes,
                          .workspace = plan->info.workspace_bytes > 0 ? options->workspace : NULL};
    run.sizes.m = run.problem.c.rows;
    run.sizes.n = run.problem.c.cols;
    return run;
}

/* Where k is not to be read, it has one share. */
static int64_t shares_of(const rungi_simt_run *run)
{
    return run->sizes.k == 0 ? 1 : run->work->split.splits;
}

/* The view that begins at (row, col) of an item. */
static rungi_simt_view view_of(const rung_matrix *matrix, int64_t row, int64_t col, int64_t item)
{
    bool scattered = matrix->batch_offsets != NULL;
    return (rungi_simt_view){
        .offset = rungi_simt_offset(matrix) + row * matrix->row_stride + col * matrix->col_stride +
                  (scattered ? 0 : item * matrix->batch_stride),
        .row_stride = matrix->row_stride,
        .col_stride = matrix->col_stride,
        .batch_stride = scattered ? 0 : matrix->batch_stride,
    };
}

/* As finish.h has them. */
static int64_t flags_of(const rungi_simt_run *run, bool reduces)
{
    const rung_problem *problem = &run->problem;
    const rungi_simt_path *path = &run->work->path;
    return (problem->a.batch_offsets ? 1 : 0) | (problem->b.batch_offsets ? 2 : 0) |
           (problem->c.batch_offsets ? 4 : 0) | (rungi_problem_addend(problem)->batch_offsets ? 8 : 0) |
           (path->bias ? 16 : 0) | (path->residual ? 32 : 0) | (path->split && !reduces ? 64 : 0) |
           (path->addend ? 128 : 0) | (int64_t)path->activation << 8;
}

static rungi_simt_extra extra_of(const rungi_simt_run *run, part_t part, bool reduces)
{
    const rung_problem *problem = &run->problem;
    const rungi_simt_split *split = &run->work->split;
    int64_t start = run->workspace ? run->workspace->start : 0;
    return (rungi_simt_extra){
        .batch = problem->batch,
        .first_item = part.item,
        .splits = shares_of(run),
        /* k is 0 where A and B are not to be read. */
        .k_share = rungi_smaller(run->sizes.k, split->k_share),
        .flags = flags_of(run, reduces),
        .places_offset = start / (int64_t)sizeof(int64_t),
        .partials_offset = (start + split->partials) / rung_type_size(rungi_problem_sum_type(problem)),
        .scratch_offset = (start + split->scratch) / 4,
        .bias = view_of(&problem->bias, part.row, part.col, part.item),
        .residual = view_of(&problem->residual, part.row, part.col, part.item),
        .addend = view_of(rungi_problem_addend(problem), part.row, part.col, part.item),
    };
}

static uintptr_t handle_of(const rungi_simt_run *run, const rung_buffer *buffer)
{
    return buffer ? run->handle(buffer) : 0;
}

/* One kernel on one part. The values live as long as this call. */
static rung_status launch_kernel(rungi_simt_run *run, part_t part, bool reduces)
{
    const rung_problem *problem = &run->problem;
    const rungi_simt_shape *shape = reduces ? &run->work->reduce_shape : &run->work->shape;
    uintptr_t a = handle_of(run, problem->a.buffer), b = handle_of(run, problem->b.buffer);
    uintptr_t c = handle_of(run, problem->c.buffer), workspace = handle_of(run, run->workspace);
    uintptr_t bias = handle_of(run, problem->bias.buffer);
    uintptr_t residual = handle_of(run, problem->residual.buffer);
    uintptr_t addend = handle_of(run, rungi_problem_addend(problem)->buffer);
    rungi_simt_view a_view = view_of(&problem->a, part.row, 0, part.item);
    rungi_simt_view b_view = view_of(&problem->b, 0, part.col, part.item);
    rungi_simt_view c_view = view_of(&problem->c, part.row, part.col, part.item);
    rung_type sum = rungi_problem_sum_type(problem);
    rungi_simt_scalar alpha = rungi_simt_scalar_of(problem->alpha, sum);
    rungi_simt_scalar beta = rungi_simt_scalar_of(problem->beta, sum);
    size_t scalar = (size_t)rung_type_size(sum);
    rungi_simt_extra extra = extra_of(run, part, reduces);
    int64_t k = run->sizes.k;
    RUNGI_ASSERT(shape->threads > 0 && part.items > 0 && part.items <= RUNGI_SIMT_ITEMS_MAX);
    rungi_simt_launch launch = {
        .reduces = reduces,
        .threads = shape->threads,
        .blocks = reduces ? shape->blocks
                          : rungi_divide_up(part.rows, shape->bm) * rungi_divide_up(part.cols, shape->bn),
        .items = part.items,
        .shares = reduces ? 1 : shares_of(run),
        .count = reduces ? RUNGI_SIMT_ALL_ARGUMENTS : run->work->arguments,
        .arguments =
            {
                {&part.rows, sizeof part.rows},
                {&part.cols, sizeof part.cols},
                {&k, sizeof k},
                {&alpha, scalar},
                {&a, sizeof a},
                {&a_view, sizeof a_view},
                {&b, sizeof b},
                {&b_view, sizeof b_view},
                {&beta, scalar},
                {&c, sizeof c},
                {&c_view, sizeof c_view},
                {&extra, sizeof extra},
                {&workspace, sizeof workspace},
                {&bias, sizeof bias},
                {&residual, sizeof residual},
                {&workspace, sizeof workspace},
                {reduces ? &addend : &workspace, sizeof workspace},
            },
    };
    return run->launch(run->user, &launch);
}

/* The sums of some items, and where k is cut, their shares put together. */
static rung_status launch_part(rungi_simt_run *run, part_t part)
{
    rung_status status = launch_kernel(run, part, false);
    if (status == RUNG_OK && run->work->path.split)
        status = launch_kernel(run, part, true);
    return status;
}

/* Brings the places of scattered items to the workspace. */
static rung_status send_places(rungi_simt_run *run)
{
    const rung_problem *problem = &run->problem;
    const int64_t *offsets[] = {problem->a.batch_offsets, problem->b.batch_offsets, problem->c.batch_offsets,
                                rungi_problem_addend(problem)->batch_offsets};
    int64_t bytes = problem->batch * (int64_t)sizeof(int64_t);
    for (int i = 0; i < 4; i++) {
        rung_status status = offsets[i] ? run->send(run->user, run->workspace, i * bytes, bytes, offsets[i]) : RUNG_OK;
        if (status != RUNG_OK)
            return status;
    }
    return RUNG_OK;
}

rung_status rungi_simt_launch_all(rungi_simt_run *run)
{
    const rungi_simt_shape *shape = &run->work->shape;
    rungi_sizes sizes = run->sizes;
    RUNGI_ASSERT(shape->rows > 0 && shape->cols > 0); /* the steps of the loops below */
    RUNGI_ASSERT(run->work->split.workspace == 0 || run->workspace);
    rung_status status = send_places(run);
    for (int64_t item = 0; status == RUNG_OK && item < sizes.batch; item += RUNGI_SIMT_ITEMS_MAX)
        for (int64_t row = 0; status == RUNG_OK && row < sizes.m; row += shape->rows)
            for (int64_t col = 0; status == RUNG_OK && col < sizes.n; col += shape->cols) {
                part_t part = {row,
                               col,
                               rungi_smaller(shape->rows, sizes.m - row),
                               rungi_smaller(shape->cols, sizes.n - col),
                               item,
                               rungi_smaller(RUNGI_SIMT_ITEMS_MAX, sizes.batch - item)};
                status = launch_part(run, part);
            }
    return status;
}
