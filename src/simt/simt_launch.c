/* SPDX-License-Identifier: Apache-2.0 */
/* simt_launch.c - see simt_launch.h. */
#include "simt/simt_launch.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/problem.h"
#include "core/quantization.h"

/* The part of C that one launch computes: rows x cols starting at (row, col), for some of the batch items. */
typedef struct region {
    int64_t row, col, rows, cols, item, items;
} region_t;

/* Returns the number of slices of k: one if k is 0, since A and B are not read then. */
static int64_t slice_count(const rungi_simt_run *run)
{
    return run->sizes.k == 0 ? 1 : run->simt->split.splits;
}

/* Returns the view that starts at (row, col) of an item, with offset `start` of the view's first element. */
static rungi_simt_view view_from(const rung_matrix *matrix, int64_t start, int64_t row, int64_t col, int64_t item)
{
    bool has_batch_offsets = matrix->batch_offsets != NULL;
    return (rungi_simt_view){
        .offset = start + row * matrix->row_stride + col * matrix->col_stride +
                  (has_batch_offsets ? 0 : item * matrix->batch_stride),
        .row_stride = matrix->row_stride,
        .col_stride = matrix->col_stride,
        .batch_stride = has_batch_offsets ? 0 : matrix->batch_stride,
    };
}

static rungi_simt_view view_of(const rung_matrix *matrix, int64_t row, int64_t col, int64_t item)
{
    return view_from(matrix, rungi_simt_view_offset(matrix), row, col, item);
}

/* ---- A narrow B -------------------------------------------------------------------------------------------------- */

/* Reads the scales and zero points of A or B, which may be NULL. They are absent if A and B are not read. */
static rung_quantization quantization_of(const rung_quantization *given)
{
    rung_quantization quantization = rung_quantization_default();
    if (given)
        (void)rungi_quantization_read(given, &quantization); /* it was checked */
    return quantization;
}

bool rungi_simt_scales_have_batch_offsets(const rung_problem *problem)
{
    rung_quantization a = quantization_of(problem->a_quantization), b = quantization_of(problem->b_quantization);
    return a.scales.batch_offsets || b.scales.batch_offsets || b.zero_points.batch_offsets;
}

static int64_t start_of(const rung_matrix *matrix)
{
    return matrix->buffer ? matrix->buffer->kernel_offset : 0;
}

rungi_simt_quantization_args rungi_simt_quantization_args_of(const rung_matrix *b,
                                                             const rung_quantization *quantization, int64_t first_col,
                                                             int64_t item)
{
    const rung_matrix *scales = &quantization->scales, *zero_points = &quantization->zero_points;
    return (rungi_simt_quantization_args){
        .scales = view_from(scales, scales->offset, 0, 0, item),
        .zero_points = view_from(zero_points, zero_points->offset, 0, 0, item),
        .first_col = first_col,
        .flags = (scales->batch_offsets ? 1 : 0) | (zero_points->batch_offsets ? 2 : 0),
        .b_start = start_of(b),
        .scales_start = start_of(scales),
        .zero_points_start = start_of(zero_points),
    };
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* Returns launch_args_t.flags of epilogue.h. */
static int64_t flags_of(const rungi_simt_run *run, bool is_reduction)
{
    const rung_problem *problem = &run->problem;
    const rungi_simt_path *path = &run->simt->path;
    return (problem->a.batch_offsets ? 1 : 0) | (problem->b.batch_offsets ? 2 : 0) |
           (problem->c.batch_offsets ? 4 : 0) | (rungi_problem_addend(problem)->batch_offsets ? 8 : 0) |
           (path->bias ? 16 : 0) | (path->residual ? 32 : 0) | (path->split && !is_reduction ? 64 : 0) |
           (path->addend ? 128 : 0) | (int64_t)path->activation << 8;
}

static rungi_simt_launch_args launch_args_of(const rungi_simt_run *run, region_t region, bool is_reduction)
{
    const rung_problem *problem = &run->problem;
    const rungi_simt_split *split = &run->simt->split;
    int64_t start = run->workspace ? run->workspace->kernel_offset : 0;
    return (rungi_simt_launch_args){
        .batch = problem->batch,
        .first_item = region.item,
        .splits = slice_count(run),
        /* k is 0 if A and B must not be read. */
        .k_per_slice = rungi_min(run->sizes.k, split->k_per_slice),
        .flags = flags_of(run, is_reduction),
        .batch_offsets_start = start / (int64_t)sizeof(int64_t),
        .partials_offset = (start + split->partials_offset) / rung_type_size(rungi_problem_accumulator_type(problem)),
        .scratch_offset = (start + split->scratch_offset) / 4,
        .bias = view_of(&problem->bias, region.row, region.col, region.item),
        .residual = view_of(&problem->residual, region.row, region.col, region.item),
        .addend = view_of(rungi_problem_addend(problem), region.row, region.col, region.item),
    };
}

static uintptr_t handle_of(const rungi_simt_run *run, const rung_buffer *buffer)
{
    return buffer ? run->handle(buffer) : 0;
}

/* Returns the view of B as (n, k). */
static rungi_simt_view transposed(rungi_simt_view view)
{
    int64_t row_stride = view.row_stride;
    view.row_stride = view.col_stride;
    view.col_stride = row_stride;
    return view;
}

/* Encodes the tensor maps of A and B. If k is 0, the kernel reads neither, and the maps are zeros. */
static rung_status encode_maps(const rungi_simt_run *run, region_t region, rungi_simt_tensor_map maps[2])
{
    const rung_problem *problem = &run->problem;
    const rungi_simt_plan *simt = run->simt;
    memset(maps, 0, 2 * sizeof *maps);
    if (run->sizes.k == 0)
        return RUNG_OK;
    rungi_simt_view a_view = view_of(&problem->a, region.row, 0, region.item);
    rungi_simt_view b_view = transposed(view_of(&problem->b, 0, region.col, region.item));
    rungi_simt_tensor a = rungi_simt_tensor_of(handle_of(run, problem->a.buffer), problem->a.type, &a_view, region.rows,
                                               run->sizes.k, region.items, simt->shape.bm, simt->path.a_mn_major);
    rungi_simt_tensor b = rungi_simt_tensor_of(handle_of(run, problem->b.buffer), problem->b.type, &b_view, region.cols,
                                               run->sizes.k, region.items, simt->shape.bn, simt->path.b_mn_major);
    TRY(run->encode(run->device_state, &a, &maps[0]));
    return run->encode(run->device_state, &b, &maps[1]);
}

static void set_argument(rungi_simt_launch *launch, int number, const void *value, size_t size)
{
    launch->arguments[number].value = value;
    launch->arguments[number].size = size;
}

/* Sets the arguments of quantized.h, and after them the scratch memory of an emulated engine. */
static void set_quantized_arguments(rungi_simt_launch *launch, const uintptr_t *scales, const uintptr_t *zero_points,
                                    const rungi_simt_quantization_args *args, const uintptr_t *scratch)
{
    set_argument(launch, RUNGI_SIMT_EPILOGUE_ARGUMENTS, scales, sizeof *scales);
    set_argument(launch, RUNGI_SIMT_EPILOGUE_ARGUMENTS + 1, zero_points, sizeof *zero_points);
    set_argument(launch, RUNGI_SIMT_EPILOGUE_ARGUMENTS + 2, args, sizeof *args);
    set_argument(launch, RUNGI_SIMT_QUANTIZED_ARGUMENTS, scratch, sizeof *scratch);
}

/* Sets the arguments of scaled_mma.h. */
static void set_pair_arguments(rungi_simt_launch *launch, const uintptr_t *scales,
                               const rungi_simt_quantization_args *args)
{
    set_argument(launch, RUNGI_SIMT_QUANTIZED_ARGUMENTS, scales, sizeof *scales);
    set_argument(launch, RUNGI_SIMT_QUANTIZED_ARGUMENTS + 1, args, sizeof *args);
}

/* Launches one kernel for a region. The arguments are valid during this call only. */
static rung_status launch_kernel(rungi_simt_run *run, region_t region, bool is_reduction)
{
    const rung_problem *problem = &run->problem;
    const rungi_simt_shape *shape = is_reduction ? &run->simt->reduce_shape : &run->simt->shape;
    uintptr_t a = handle_of(run, problem->a.buffer), b = handle_of(run, problem->b.buffer);
    uintptr_t c = handle_of(run, problem->c.buffer), workspace = handle_of(run, run->workspace);
    uintptr_t bias = handle_of(run, problem->bias.buffer);
    uintptr_t residual = handle_of(run, problem->residual.buffer);
    uintptr_t addend = handle_of(run, rungi_problem_addend(problem)->buffer);
    rungi_simt_view a_view = view_of(&problem->a, region.row, 0, region.item);
    rungi_simt_view b_view = view_of(&problem->b, 0, region.col, region.item);
    rungi_simt_view c_view = view_of(&problem->c, region.row, region.col, region.item);
    rung_type sum = rungi_problem_accumulator_type(problem);
    rungi_simt_scalar alpha = rungi_simt_scalar_of(problem->alpha, sum);
    rungi_simt_scalar beta = rungi_simt_scalar_of(problem->beta, sum);
    size_t scalar = (size_t)rung_type_size(sum);
    rungi_simt_launch_args launch_args = launch_args_of(run, region, is_reduction);
    int64_t k = run->sizes.k;
    rungi_simt_tensor_map maps[2];
    bool has_maps = !is_reduction && run->simt->arguments == RUNGI_SIMT_TENSOR_ARGUMENTS;
    bool has_narrow_b = !is_reduction && run->simt->path.narrow_b.type != RUNG_TYPE_NONE;
    bool has_narrow_a = !is_reduction && run->simt->path.narrow_a.type != RUNG_TYPE_NONE;
    rung_quantization quantization = quantization_of(problem->b_quantization);
    rung_quantization a_quantization = quantization_of(problem->a_quantization);
    uintptr_t a_scales = handle_of(run, a_quantization.scales.buffer);
    rungi_simt_quantization_args a_args = rungi_simt_quantization_args_of(&problem->a, &a_quantization, region.row,
                                                                          region.item);
    uintptr_t scales = handle_of(run, quantization.scales.buffer);
    uintptr_t zero_points = handle_of(run, quantization.zero_points.buffer);
    rungi_simt_quantization_args quantization_args = rungi_simt_quantization_args_of(&problem->b, &quantization,
                                                                                     region.col, region.item);
    if (has_narrow_b)
        b_view = view_from(&problem->b, problem->b.offset, 0, region.col, region.item);
    if (has_narrow_a)
        a_view = view_from(&problem->a, problem->a.offset, region.row, 0, region.item);
    if (has_maps)
        TRY(encode_maps(run, region, maps));
    RUNGI_ASSERT(shape->threads > 0 && region.items > 0 && region.items <= RUNGI_SIMT_GRID_YZ_MAX);
    rungi_simt_launch launch = {
        .is_reduction = is_reduction,
        .threads = shape->threads,
        .blocks = is_reduction ? shape->blocks
                               : rungi_ceil_divide(region.rows, shape->bm) * rungi_ceil_divide(region.cols, shape->bn),
        .items = region.items,
        .slices = is_reduction ? 1 : slice_count(run),
        .count = is_reduction ? RUNGI_SIMT_REDUCTION_ARGUMENTS : run->simt->arguments,
        .arguments =
            {
                {&region.rows, sizeof region.rows},
                {&region.cols, sizeof region.cols},
                {&k, sizeof k},
                {&alpha, scalar},
                {&a, sizeof a},
                {&a_view, sizeof a_view},
                {&b, sizeof b},
                {&b_view, sizeof b_view},
                {&beta, scalar},
                {&c, sizeof c},
                {&c_view, sizeof c_view},
                {&launch_args, sizeof launch_args},
                {&workspace, sizeof workspace},
                {&bias, sizeof bias},
                {&residual, sizeof residual},
                {&workspace, sizeof workspace},
                {is_reduction ? &addend : &workspace, sizeof workspace},
            },
    };
    for (int i = 0; has_maps && i < 2; i++)
        set_argument(&launch, RUNGI_SIMT_EPILOGUE_ARGUMENTS + i, &maps[i], sizeof maps[i]);
    if (has_narrow_b)
        set_quantized_arguments(&launch, &scales, &zero_points, &quantization_args, &workspace);
    if (has_narrow_a)
        set_pair_arguments(&launch, &a_scales, &a_args);
    return run->launch(run->device_state, &launch);
}

/* Copies the batch offsets to the start of the workspace. */
static rung_status upload_batch_offsets(rungi_simt_run *run)
{
    const rung_problem *problem = &run->problem;
    rung_quantization quantization = quantization_of(problem->b_quantization);
    rung_quantization a_quantization = quantization_of(problem->a_quantization);
    const int64_t *offsets[] = {problem->a.batch_offsets,           problem->b.batch_offsets,
                                problem->c.batch_offsets,           rungi_problem_addend(problem)->batch_offsets,
                                quantization.scales.batch_offsets,  quantization.zero_points.batch_offsets,
                                a_quantization.scales.batch_offsets};
    int64_t bytes = problem->batch * (int64_t)sizeof(int64_t);
    for (int i = 0; i < (int)(sizeof offsets / sizeof *offsets); i++)
        if (offsets[i])
            TRY(run->upload(run->device_state, run->workspace, i * bytes, bytes, offsets[i]));
    return RUNG_OK;
}

rung_status rungi_simt_launch_all(rungi_simt_run *run, const rung_plan *plan, const rung_problem *problem,
                                  rungi_gemm_sizes sizes, const rung_run_options *options)
{
    const rungi_simt_shape *shape = &run->simt->shape;
    run->problem = rungi_simt_orient(plan->kernel, problem);
    run->workspace = plan->info.workspace_bytes > 0 ? options->workspace : NULL;
    sizes.m = run->problem.c.rows;
    sizes.n = run->problem.c.cols;
    run->sizes = sizes;
    RUNGI_ASSERT(shape->rows > 0 && shape->cols > 0); /* the steps of the loops below */
    RUNGI_ASSERT(run->simt->split.workspace_bytes == 0 || run->workspace);
    TRY(upload_batch_offsets(run));
    for (int64_t item = 0; item < sizes.batch; item += RUNGI_SIMT_GRID_YZ_MAX)
        for (int64_t row = 0; row < sizes.m; row += shape->rows)
            for (int64_t col = 0; col < sizes.n; col += shape->cols) {
                region_t region = {.row = row, .col = col, .item = item};
                region.rows = rungi_min(shape->rows, sizes.m - row);
                region.cols = rungi_min(shape->cols, sizes.n - col);
                region.items = rungi_min(RUNGI_SIMT_GRID_YZ_MAX, sizes.batch - item);
                TRY(launch_kernel(run, region, false));
                if (run->simt->path.split) /* adds the slices */
                    TRY(launch_kernel(run, region, true));
            }
    return RUNG_OK;
}
