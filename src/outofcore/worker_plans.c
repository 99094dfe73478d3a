/* SPDX-License-Identifier: Apache-2.0 */
/* worker_plans.c - see worker_plans.h. */
#include "outofcore/worker_plans.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/try.h"

/* Returns the view of a panel in its buffer. */
static rung_matrix panel_view(const rung_outofcore_matrix *matrix, int64_t rows, int64_t cols, rung_buffer *buffer)
{
    rung_type type = matrix->view.type;
    if (rungi_outofcore_matrix_is_column_major(matrix))
        return rung_matrix_transpose(rung_matrix_in_buffer(type, cols, rows, buffer, 0));
    return rung_matrix_in_buffer(type, rows, cols, buffer, 0);
}

rung_problem rungi_worker_slice_problem(const rungi_worker *worker, const rungi_outofcore_slice *slice)
{
    const rungi_job *job = worker->job;
    const rungi_outofcore_problem *problem = job->problem;
    rungi_outofcore_block block = rungi_outofcore_block_at(&job->sizes, &job->blocking, slice->block);
    int64_t depth = rungi_outofcore_panel_depth(&job->sizes, &job->blocking, slice->panel);
    int64_t row = slice->index * rungi_outofcore_slice_rows(block.rows);
    int64_t rows = rungi_outofcore_slice_size(block.rows, slice->index);
    rung_type sum_type = rungi_outofcore_problem_accumulator(problem);
    rung_matrix c = rung_matrix_in_buffer(sum_type, block.rows, block.cols, worker->block, 0);
    rung_problem part = rung_problem_of(
        panel_view(&problem->a, rows, depth, slice->a),
        panel_view(&problem->b, depth, block.cols, worker->b_panels[slice->b_panel].memory),
        rung_matrix_block(c, row, 0, rows, block.cols));
    part.alpha = problem->alpha;
    part.beta = slice->panel == 0 ? problem->beta : 1;
    part.compute = problem->compute;
    return part;
}

rung_status rungi_worker_find_plan(rungi_worker *worker, const rung_problem *part, rung_plan **plan)
{
    rungi_outofcore_cached_plan wanted = {.rows = part->c.rows, .cols = part->c.cols, .depth = part->a.cols};
    for (int i = 0; i < worker->cached_plan_count; i++) {
        const rungi_outofcore_cached_plan *cached = &worker->cached_plans[i];
        *plan = cached->plan;
        if (cached->rows == wanted.rows && cached->cols == wanted.cols && cached->depth == wanted.depth)
            return RUNG_OK;
    }
    int64_t start_ns = rungi_clock_ns();
    rung_plan_options options = rung_plan_options_default();
    if (worker->packed_b) {
        options.packed_b = 1;
        options.kernel = worker->packing_kernel;
        options.parameters = worker->parameters;
    }
    rung_status status = rung_plan_create(worker->device, part, &options, &wanted.plan);
    worker->plan_ns += rungi_clock_ns() - start_ns;
    TRY(status);
    if (worker->cached_plan_count == RUNGI_OUTOFCORE_MAX_CACHED_PLANS)
        rung_plan_destroy(worker->cached_plans[--worker->cached_plan_count].plan);
    worker->cached_plans[worker->cached_plan_count++] = wanted;
    *plan = wanted.plan;
    return RUNG_OK;
}

/* Creates packed_b with the kernel and parameters of a plan, unless the packed panel needs more than `max_bytes`. */
static rung_status create_packed_b_for(rungi_worker *worker, const rung_plan_info *info, int64_t max_bytes)
{
    int length = snprintf(worker->parameters, sizeof worker->parameters, "%s", info->parameters);
    if (info->packed_b_bytes <= 0 || info->packed_b_bytes > max_bytes || length >= (int)sizeof worker->parameters)
        return RUNG_OK;
    TRY(rung_kernel_find(rung_device_context(worker->device), "cpu", info->kernel, &worker->packing_kernel));
    return rung_buffer_create(worker->device, info->packed_b_bytes, &worker->packed_b);
}

rung_status rungi_worker_create_packed_b(rungi_worker *worker)
{
    enum { MAX_HEADER_BYTES = 256 }; /* of a packed B, in addition to its panels */
    const rungi_job *job = worker->job;
    const rungi_outofcore_problem *problem = job->problem;
    int64_t depth = job->blocking.panel_depth, cols = job->blocking.block_cols;
    int64_t rows = rungi_outofcore_slice_size(job->blocking.block_rows, 0);
    int64_t available_bytes = rungi_outofcore_panel_bytes_per_k(&job->sizes, 0, cols) / 2 * depth;
    rung_problem part = rung_problem_of(
        panel_view(&problem->a, rows, depth, NULL), panel_view(&problem->b, depth, cols, NULL),
        rung_matrix_in_buffer(rungi_outofcore_problem_accumulator(problem), rows, cols, NULL, 0));
    rung_plan_options options = rung_plan_options_default();
    rung_plan *plan;
    options.packed_b = 1;
    part.compute = problem->compute;
    if (!worker->is_host_memory || depth == 0 || rung_plan_create(worker->device, &part, &options, &plan) != RUNG_OK)
        return RUNG_OK;
    rung_status status = create_packed_b_for(worker, rung_plan_describe(plan), available_bytes + MAX_HEADER_BYTES);
    rung_plan_destroy(plan);
    return status;
}
