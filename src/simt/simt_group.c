/* SPDX-License-Identifier: Apache-2.0 */
/* simt_group.c - computes the problems of a group by one launch: the table that group.h reads, and the launch. */
#include "simt/simt_launch.h"

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/group_check.h"
#include "core/problem.h"
#include "core/quantization.h"

/* group_problem_t of group.h: the same layout on host and device. */
typedef struct group_problem {
    int64_t m, n, k;
    rungi_simt_view a, b, c, bias, residual;
    rungi_simt_scalar alpha, beta;
} group_problem_t;

_Static_assert(sizeof(rungi_simt_scalar) == 8, "alpha and beta have eight bytes each in the table");

/* Counts the tiles of C. Fails if they do not fit the 32-bit numbers by which a block finds its tile. */
static rung_status count_tiles(const rungi_simt_shape *shape, const rung_matrix *c, int64_t *tiles)
{
    int64_t rows = rungi_ceil_divide(c->rows, shape->bm), cols = rungi_ceil_divide(c->cols, shape->bn);
    if (!rungi_checked_multiply(rows, cols, tiles) || *tiles > INT32_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "C, %lld x %lld, has more than 2^31 tiles of %lld x %lld",
                          (long long)c->rows, (long long)c->cols, (long long)shape->bm, (long long)shape->bn);
    return RUNG_OK;
}

rung_status rungi_simt_group_count(const rung_plan *plan, const rungi_simt_shape *shape, int64_t *blocks,
                                   int64_t *table_bytes)
{
    const rungi_group *group = plan->group;
    *blocks = 0;
    for (int64_t i = 0; i < group->count; i++) {
        int64_t tiles;
        rung_problem oriented = rungi_simt_orient(plan->kernel, &group->problems[i]);
        TRY(count_tiles(shape, &oriented.c, &tiles));
        if (!rungi_checked_add(*blocks, tiles, blocks))
            return rungi_fail(RUNG_STATUS_TOO_LARGE, "the group has more than 2^63 tiles");
    }
    int64_t size = (int64_t)(sizeof(int64_t) + sizeof(group_problem_t));
    if (rungi_simt_has_narrow_b(plan->kernel))
        size += (int64_t)sizeof(rungi_simt_quantization_args);
    if (!rungi_checked_multiply(group->count, size, table_bytes) ||
        !rungi_checked_add(*table_bytes, (int64_t)sizeof(int64_t), table_bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the table of %lld problems does not fit 64-bit sizes",
                          (long long)group->count);
    return RUNG_OK;
}

static rungi_simt_view view_of(const rung_matrix *matrix)
{
    return (rungi_simt_view){
        .offset = rungi_simt_view_offset(matrix), .row_stride = matrix->row_stride, .col_stride = matrix->col_stride};
}

static group_problem_t describe(const rung_problem *oriented, rung_type sum)
{
    return (group_problem_t){
        .m = oriented->c.rows,
        .n = oriented->c.cols,
        .k = oriented->a.cols,
        .a = view_of(&oriented->a),
        .b = view_of(&oriented->b),
        .c = view_of(&oriented->c),
        .bias = view_of(&oriented->bias),
        .residual = view_of(&oriented->residual),
        .alpha = rungi_simt_scalar_of(oriented->alpha, sum),
        .beta = rungi_simt_scalar_of(oriented->beta, sum),
    };
}

/* Describes a narrow B. The offset of its view does not include the start of the buffer. */
static rungi_simt_quantization_args describe_quantization(const rung_problem *problem, rungi_simt_view *b)
{
    rung_quantization quantization = rung_quantization_default();
    if (problem->b_quantization)
        (void)rungi_quantization_read(problem->b_quantization, &quantization); /* it was checked */
    b->offset = problem->b.offset;
    return rungi_simt_quantization_args_of(&problem->b, &quantization, 0, 0);
}

/* Writes the first block of each problem, the number of all blocks, the problems and, for a narrow B, what describes it.
 * Returns the number of blocks. */
static int64_t fill_table(const rung_plan *plan, const rungi_simt_shape *shape, void *table)
{
    const rungi_group *group = plan->group;
    int64_t *first_blocks = table, blocks = 0;
    group_problem_t *problems = (group_problem_t *)(void *)(first_blocks + group->count + 1);
    rungi_simt_quantization_args *quantizations = (rungi_simt_quantization_args *)(void *)(problems + group->count);
    bool has_narrow_b = rungi_simt_has_narrow_b(plan->kernel);
    for (int64_t i = 0; i < group->count; i++) {
        rung_problem oriented = rungi_simt_orient(plan->kernel, &group->problems[i]);
        first_blocks[i] = blocks;
        blocks += rungi_ceil_divide(oriented.c.rows, shape->bm) * rungi_ceil_divide(oriented.c.cols, shape->bn);
        problems[i] = describe(&oriented, rungi_problem_accumulator_type(&plan->problem));
        if (has_narrow_b)
            quantizations[i] = describe_quantization(&oriented, &problems[i].b);
    }
    first_blocks[group->count] = blocks;
    return blocks;
}

/* Launches `blocks` blocks from `first_block` on. The arguments that the table replaces are zeros. A kernel with a narrow B has
 * three more than others. */
static rung_status launch_blocks(rungi_simt_run *run, const rung_plan *plan, int64_t first_block, int64_t blocks)
{
    static const rungi_simt_view no_view;
    static const rungi_simt_scalar no_scalar;
    static const int64_t no_size;
    static const rungi_simt_quantization_args no_quantization;
    const rungi_group *group = plan->group;
    uintptr_t inputs = group->inputs ? run->handle(group->inputs) : 0, outputs = run->handle(group->outputs);
    uintptr_t table = run->handle(run->workspace);
    size_t scalar = (size_t)rung_type_size(rungi_problem_accumulator_type(&plan->problem));
    rungi_simt_launch_args launch_args = {.batch = group->count,
                                          .first_item = first_block,
                                          .batch_offsets_start = run->workspace->kernel_offset /
                                                                 (int64_t)sizeof(int64_t)};
    rungi_simt_launch launch = {
        .threads = run->simt->shape.threads,
        .blocks = blocks,
        .items = 1,
        .slices = 1,
        .count = run->simt->arguments,
        .arguments =
            {
                {&no_size, sizeof no_size},
                {&no_size, sizeof no_size},
                {&no_size, sizeof no_size},
                {&no_scalar, scalar},
                {&inputs, sizeof inputs},
                {&no_view, sizeof no_view},
                {&inputs, sizeof inputs},
                {&no_view, sizeof no_view},
                {&no_scalar, scalar},
                {&outputs, sizeof outputs},
                {&no_view, sizeof no_view},
                {&launch_args, sizeof launch_args},
                {&table, sizeof table},
                {&inputs, sizeof inputs},
                {&inputs, sizeof inputs},
                {&table, sizeof table},
                {&inputs, sizeof inputs},
                {&inputs, sizeof inputs},
                {&no_quantization, sizeof no_quantization},
            },
    };
    return run->launch(run->device_state, &launch);
}

rung_status rungi_simt_launch_group(rungi_simt_run *run, const rung_plan *plan, void *table,
                                    const rung_run_options *options)
{
    const rungi_simt_plan *simt = run->simt;
    run->workspace = options->workspace;
    RUNGI_ASSERT(simt->path.is_group && simt->blocks_max > 0);
    RUNGI_ASSERT(run->workspace && run->workspace->bytes >= plan->info.workspace_bytes);
    int64_t blocks = fill_table(plan, &simt->shape, table);
    RUNGI_ASSERT(blocks == simt->shape.blocks);
    TRY(run->upload(run->device_state, run->workspace, 0, plan->info.workspace_bytes, table));
    for (int64_t first = 0; first < blocks; first += simt->blocks_max)
        TRY(launch_blocks(run, plan, first, rungi_min(simt->blocks_max, blocks - first)));
    return RUNG_OK;
}
