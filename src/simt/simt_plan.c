/* SPDX-License-Identifier: Apache-2.0 */
/* simt_plan.c - the part of a plan that OpenCL and CUDA share (see simt.h). */
#include "simt/simt.h"

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/choose/tile_cost.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "sources.h"

/* Evaluates a size that the kernel file must define. The size must be positive. */
static rung_status read_size(const rung_kernel *kernel, const rungi_parameter_values *values,
                             rungi_string_view expression, const char *what, int64_t *size)
{
    if (rungi_kernel_evaluate(kernel, values, expression, size) != RUNG_OK)
        return rungi_fail_prepend(RUNG_STATUS_INVALID, "%s must define %s", kernel->info.file, what);
    if (*size < 1 || *size > INT32_MAX)
        return rungi_invalid("%s: %s: the value is %lld; valid are 1 to %d", kernel->info.file, what, (long long)*size,
                             INT32_MAX);
    return RUNG_OK;
}

rung_status rungi_simt_shape_init(const rung_kernel *kernel, const rungi_parameter_values *values, int64_t m, int64_t n,
                                  int64_t blocks_max, rungi_simt_shape *shape)
{
    *shape = (rungi_simt_shape){0};
    if (kernel->entry.length > RUNGI_SIMT_ENTRY_NAME_MAX)
        return rungi_invalid("%s: the name of the kernel has %lld characters; the maximum is %d", kernel->info.file,
                             (long long)kernel->entry.length, RUNGI_SIMT_ENTRY_NAME_MAX);
    if (kernel->entry.length == 0)
        return rungi_invalid("%s has no kernel; begin one with KERNEL(threads) name(...)", kernel->info.file);
    TRY(read_size(kernel, values, kernel->threads, "its threads in KERNEL(threads)", &shape->threads));
    TRY(read_size(kernel, values, rungi_string_view_of("BM", 2), "BM, the rows of C per block", &shape->bm));
    TRY(read_size(kernel, values, rungi_string_view_of("BN", 2), "BN, the columns of C per block", &shape->bn));

    int64_t grid_rows = rungi_ceil_divide(m, shape->bm), grid_cols = rungi_ceil_divide(n, shape->bn);
    if (!rungi_checked_multiply(grid_rows, grid_cols, &shape->blocks))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "C, %lld x %lld, has more than 2^63 tiles", (long long)m,
                          (long long)n);
    grid_cols = rungi_min(grid_cols, blocks_max);
    if (grid_cols > 0)
        grid_rows = rungi_min(grid_rows, blocks_max / grid_cols);
    /* Complete tiles at the end of a matrix may exceed int64_t. */
    if (!rungi_checked_multiply(grid_rows, shape->bm, &shape->rows))
        shape->rows = m;
    if (!rungi_checked_multiply(grid_cols, shape->bn, &shape->cols))
        shape->cols = n;
    return RUNG_OK;
}

static rung_status check_shared(const rung_device *device, const rung_kernel *kernel, int64_t bytes)
{
    if (bytes > device->info.shared_bytes_per_block)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s uses %lld bytes of shared memory per block; %s has %lld",
                          kernel->info.name, (long long)bytes, device->info.name,
                          (long long)device->info.shared_bytes_per_block);
    return RUNG_OK;
}

rung_status rungi_simt_check_compiled(const rung_device *device, const rung_kernel *kernel, int64_t threads,
                                      int64_t threads_max, int64_t shared_bytes)
{
    if (threads > threads_max)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s needs %lld threads per block; compiled for %s, the registers suffice for %lld",
                          kernel->info.name, (long long)threads, device->info.name, (long long)threads_max);
    return check_shared(device, kernel, shared_bytes);
}

/* Checks the threads and, if the kernel file defines SHARED_BYTES, the shared memory. Most files do not: their shared
 * memory is known after compiling. */
static rung_status check_limits(rung_plan *plan, rungi_simt_plan *simt)
{
    const rung_device_info *info = &plan->device->info;
    plan->block_threads = simt->shape.threads;
    if (simt->shape.threads > info->max_threads_per_block)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s needs %lld threads per block; the maximum of %s is %lld",
                          plan->kernel->info.name, (long long)simt->shape.threads, info->name,
                          (long long)info->max_threads_per_block);
    rungi_saved_error before = rungi_error_save();
    if (rungi_kernel_evaluate(plan->kernel, &plan->values, rungi_string_view_of("SHARED_BYTES", 12),
                              &simt->shared_bytes) != RUNG_OK)
        simt->shared_bytes = 0;
    rungi_error_restore(&before);
    plan->block_shared_bytes = simt->shared_bytes;
    return info->shared_bytes_per_block > 0 ? check_shared(plan->device, plan->kernel, simt->shared_bytes) : RUNG_OK;
}

/* Checks that the kernel multiplies by a B of another type than A if the problem has one, and only then. */
static rung_status check_types_of_b(const rung_plan *plan)
{
    bool has_narrow_b = plan->problem.a.type != plan->problem.b.type;
    if (rungi_problem_has_quantized_a(&plan->problem) && rungi_simt_has_narrow_a(plan->kernel))
        return RUNG_OK;
    if (has_narrow_b == rungi_simt_has_narrow_b(plan->kernel))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s %s quantized.h, and %s x %s %s", plan->kernel->info.name,
                      has_narrow_b ? "does not include" : "includes", rung_type_name(plan->problem.a.type),
                      rung_type_name(plan->problem.b.type), has_narrow_b ? "needs it" : "does not need it");
}

/* ---- Split-K ------------------------------------------------------------------------------------------------- */

rung_status rungi_simt_split_choose(const rung_plan *plan, const rung_problem *row_major, int64_t blocks, int64_t bk,
                                    bool covers_c, rungi_simt_split *split)
{
    int64_t k = row_major->a.cols, splits = plan->split_k_requested, bytes = 0, all_blocks;
    bool addend_has_batch_offsets = rungi_problem_addend(row_major)->batch_offsets != NULL;
    bool scales_have_batch_offsets = rungi_simt_scales_have_batch_offsets(row_major);
    bool has_batch_offsets = row_major->a.batch_offsets || row_major->b.batch_offsets || row_major->c.batch_offsets ||
                             addend_has_batch_offsets || scales_have_batch_offsets;
    int64_t offset_arrays = scales_have_batch_offsets ? 7 : addend_has_batch_offsets ? 4 : 3;
    *split = (rungi_simt_split){.splits = 1, .k_per_slice = k};
    if (has_batch_offsets &&
        (!rungi_checked_multiply(row_major->batch, offset_arrays * (int64_t)sizeof(int64_t), &split->partials_offset) ||
         split->partials_offset > INT64_MAX - 15))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the offsets of %lld batch items do not fit 64-bit sizes",
                          (long long)row_major->batch);
    split->partials_offset = rungi_ceil_divide(split->partials_offset, 16) * 16;
    split->workspace_bytes = split->partials_offset;
    bool can_split = covers_c && k > bk && plan->kernel->info.abilities & RUNG_ABILITY_SPLIT_K;
    if (!can_split || !rungi_checked_multiply(blocks, row_major->batch, &all_blocks))
        return RUNG_OK;
    if (plan->split_k_requested == 0 && plan->split_k_ranked > 0)
        splits = rungi_min(plan->split_k_ranked,
                           rungi_split_k_affordable(row_major, plan->workspace_bytes_allowed - split->partials_offset));
    else if (plan->split_k_requested == 0)
        splits = rungi_split_k_slice_count(plan->device, row_major, all_blocks, bk,
                                           plan->workspace_bytes_allowed - split->partials_offset);
    if (splits < 2)
        return RUNG_OK;
    splits = rungi_min(splits, RUNGI_SIMT_GRID_YZ_MAX);
    split->k_per_slice = rungi_ceil_divide(rungi_ceil_divide(k, splits), bk) * bk; /* a multiple of bk */
    split->splits = rungi_ceil_divide(k, split->k_per_slice);
    bool fits = rungi_split_k_workspace_bytes(row_major, split->splits, &bytes) &&
                rungi_checked_add(bytes, split->partials_offset, &split->workspace_bytes);
    if (!fits && plan->split_k_requested > 0)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "the partial sums of %lld split-K slices do not fit 64-bit sizes; request fewer slices",
                          (long long)split->splits);
    if (split->splits == 1 || !fits) {
        split->splits = 1;
        split->k_per_slice = k;
        split->workspace_bytes = split->partials_offset;
    }
    return RUNG_OK;
}

static bool covers_c(const rungi_simt_plan *simt, const rung_problem *row_major)
{
    return simt->shape.rows >= row_major->c.rows && simt->shape.cols >= row_major->c.cols;
}

/* Stores the sums in the workspace, as one slice of k, for reduce.cu. */
static rung_status defer_epilogue(const rung_problem *row_major, rungi_simt_plan *simt)
{
    rungi_simt_split *split = &simt->split;
    long long rows = row_major->c.rows, cols = row_major->c.cols;
    int64_t bytes;
    if (!covers_c(simt, row_major))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "C, %lld x %lld, is too large for an epilogue that is not compiled into the kernel", rows,
                          cols);
    split->splits = 1;
    split->k_per_slice = row_major->a.cols;
    if (!rungi_split_k_workspace_bytes(row_major, 1, &bytes) ||
        !rungi_checked_add(bytes, split->partials_offset, &split->workspace_bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the sums of C, %lld x %lld, do not fit 64-bit sizes", rows, cols);
    return RUNG_OK;
}

/* Chooses the slices of k. Their length is a multiple of the kernel's step along k, BK. */
static rung_status choose_split(const rung_plan *plan, const rung_problem *row_major, rungi_simt_plan *simt)
{
    int64_t bk = INT64_MAX;
    if (plan->kernel->info.abilities & RUNG_ABILITY_SPLIT_K) {
        if (rungi_kernel_evaluate(plan->kernel, &plan->values, rungi_string_view_of("BK", 2), &bk) != RUNG_OK || bk < 1)
            return rungi_invalid("%s must define BK, its step along k", plan->kernel->info.file);
    }
    TRY(rungi_simt_split_choose(plan, row_major, simt->shape.blocks, bk, covers_c(simt, row_major), &simt->split));
    return simt->path.addend && simt->split.splits == 1 ? defer_epilogue(row_major, simt) : RUNG_OK;
}

static void fill_info(rung_plan *plan, const rungi_simt_plan *simt)
{
    plan->required_alignment = !simt->path.wide       ? 0
                               : simt->path.by_chunks ? RUNGI_INPUTS_ALIGNED_16_BYTES
                                                      : RUNGI_ALIGNED_4_ELEMENTS;
    if (simt->path.narrow_b.has_units && simt->path.narrow_a.type == RUNG_TYPE_NONE)
        plan->required_alignment |= RUNGI_NARROW_B_ALIGNED;
    plan->info.split_k = simt->split.splits;
    plan->info.workspace_bytes = simt->split.workspace_bytes;
    plan->info.threads = simt->shape.threads;
    if (!rungi_checked_multiply(simt->shape.blocks, plan->problem.batch, &plan->info.blocks) ||
        !rungi_checked_multiply(plan->info.blocks, simt->split.splits, &plan->info.blocks))
        plan->info.blocks = INT64_MAX;
}

/* Adds the scratch memory of an emulated matrix engine to the end of the workspace. */
static rung_status add_scratch(const rung_plan *plan, rungi_simt_plan *simt)
{
    rungi_simt_split *split = &simt->split;
    int64_t bytes;
    if (plan->kernel->info.engine != RUNG_ENGINE_EMULATED)
        return RUNG_OK;
    split->scratch_offset = rungi_ceil_divide(split->workspace_bytes, 16) * 16;
    if (!rungi_checked_multiply(simt->shape.blocks, plan->problem.batch, &bytes) ||
        !rungi_checked_multiply(bytes, split->splits, &bytes) ||
        !rungi_checked_multiply(bytes, simt->shape.threads, &bytes) ||
        !rungi_checked_multiply(bytes, RUNGI_SIMT_SCRATCH_BYTES_PER_THREAD, &bytes) ||
        !rungi_checked_add(bytes, split->scratch_offset, &split->workspace_bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "the scratch memory of the emulated matrix engine of %s does not fit 64-bit sizes",
                          plan->kernel->info.name);
    return RUNG_OK;
}

/* Initializes a plan whose launch computes a group: no slices of k, and a table in the workspace. The shape is that of
 * the plan's problem, the typical one of the group, except for the number of blocks. */
static rung_status init_group(rung_plan *plan, const rung_problem *oriented, rungi_simt_plan *simt)
{
    if (!rungi_simt_can_group(plan->kernel))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s does not compute several problems by one launch",
                          plan->kernel->info.name);
    TRY(rungi_simt_group_path_choose(plan, oriented, &simt->path));
    TRY(check_limits(plan, simt));
    simt->split = (rungi_simt_split){.splits = 1, .k_per_slice = oriented->a.cols};
    TRY(rungi_simt_group_count(plan, &simt->shape, &simt->shape.blocks, &simt->split.workspace_bytes));
    simt->arguments = rungi_simt_argument_count(plan->kernel);
    fill_info(plan, simt);
    plan->info.blocks = simt->shape.blocks;
    return RUNG_OK;
}

rung_status rungi_simt_plan_init(rung_plan *plan, int64_t blocks_max, rungi_simt_plan *simt)
{
    rung_problem oriented = rungi_simt_orient(plan->kernel, &plan->problem);
    simt->blocks_max = blocks_max;
    TRY(check_types_of_b(plan));
    TRY(rungi_simt_shape_init(plan->kernel, &plan->values, oriented.c.rows, oriented.c.cols, blocks_max, &simt->shape));
    if (plan->group)
        return init_group(plan, &oriented, simt);
    TRY(rungi_simt_path_choose(plan->kernel, &plan->values, &oriented, plan->alignment, &simt->path));
    if (rungi_simt_has_tensor_maps(plan->kernel))
        TRY(rungi_simt_tensor_check(plan->kernel, &oriented, &simt->path));
    TRY(check_limits(plan, simt));
    TRY(choose_split(plan, &oriented, simt));
    TRY(add_scratch(plan, simt));
    simt->path.split = simt->split.splits > 1 || simt->path.addend; /* only reduce.cu reads the addend */
    simt->arguments = rungi_simt_argument_count(plan->kernel);
    fill_info(plan, simt);
    return RUNG_OK;
}

rung_status rungi_simt_plan_separate_epilogue(rung_plan *plan, rungi_simt_plan *simt)
{
    rung_problem oriented = rungi_simt_orient(plan->kernel, &plan->problem);
    rung_status status = defer_epilogue(&oriented, simt);
    simt->path.split = true;
    fill_info(plan, simt);
    return status;
}

rung_status rungi_simt_reduction_init(const rung_plan *plan, int64_t blocks_max, rungi_simt_plan *simt,
                                      rung_kernel **kernel, rungi_parameter_values *values, rungi_simt_path *path)
{
    rung_problem oriented = rungi_simt_orient(plan->kernel, &plan->problem);
    int64_t elements;
    TRY(rung_kernel_from_source(plan->device->context, plan->device->backend->name, "reduce.cu", rungi_source_reduce,
                                kernel));
    (*kernel)->is_reduction = true;
    *path = simt->path;
    path->has_paths = path->split = path->has_compute = false;
    path->narrow_a = path->narrow_b = (rungi_simt_narrow){.type = RUNG_TYPE_NONE};
    if (rungi_type_is_narrow(path->in) && !rungi_type_is_integer(path->out))
        path->in = RUNG_F32; /* all have F32 sums, so that one image serves all */
    /* Cannot overflow: the workspace holds the elements. */
    rungi_checked_multiply(oriented.c.rows, oriented.c.cols, &elements);
    rung_status status = rungi_kernel_parse_parameters(*kernel, NULL, rung_type_size(path->in), values);
    if (status == RUNG_OK)
        status = rungi_simt_shape_init(*kernel, values, 1, elements, blocks_max, &simt->reduce_shape);
    if (status != RUNG_OK)
        rung_kernel_destroy(*kernel);
    return status;
}
