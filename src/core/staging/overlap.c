/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - multiplies on a device panel by panel, so that copies overlap with computation.
 *
 * Operands that all panels share are copied first. Then up to three lanes, each with its own queue, staging memory and
 * buffers, process the panels in round-robin order:
 *
 *     lane 0   shared | A up | kernel | C down |        | A up | kernel | ...
 *     lane 1          | A up |  wait  | kernel | C down |      | A up   | ...
 *     lane 2          |      | A up   |        | kernel | C down | ...
 *     host     pack 0, pack 1, pack 2, unpack 0, pack 3, unpack 1, pack 4, ...
 *
 * Operands are copied without their gaps, so that no byte between the elements is read or written. A problem that is
 * not split is one panel on one lane. */
#include "core/staging/pipeline.h"

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/device_pool.h"
#include "core/plan.h"

enum { STAGE_ALIGNMENT = 64 };

/* Small enough that the sum over all operands and lanes cannot overflow. */
static const int64_t operand_bytes_max = INT64_MAX / 64;

/* ---- Panels ------------------------------------------------------------------------------------------------------ */

static rung_status measure_dense(const rung_matrix *view, int64_t batch, rung_matrix *dense, int64_t *items,
                                 int64_t *bytes)
{
    if (!rungi_matrix_dense_batch(view, batch, dense, items, bytes) || *bytes > operand_bytes_max)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "a batch of %lld matrices of %lld x %lld does not fit the address space", (long long)*items,
                          (long long)view->rows, (long long)view->cols);
    return RUNG_OK;
}

/* Fills the views of a panel in host memory and in the buffers of the lane. */
static rung_status describe_panel(const rungi_pipeline *pipeline, const rungi_pipeline_lane *lane, int64_t index,
                                  rungi_staged_panel *panel)
{
    RUNGI_ASSERT(index >= 0 && index < pipeline->panels.count);
    panel->host_problem = rungi_panels_problem(&pipeline->panels, pipeline->problem, index);
    panel->device_problem = rungi_panels_problem(&pipeline->panels, &pipeline->device_problem, index);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        const rung_matrix *view = rungi_problem_view(&panel->host_problem, i);
        rung_matrix *device_view = rungi_problem_operand(&panel->device_problem, i);
        panel->is_copied[i] = !rungi_matrix_is_empty(view) && !rungi_pipeline_is_shared(pipeline, i);
        panel->items[i] = panel->bytes[i] = 0;
        if (!panel->is_copied[i])
            continue;
        TRY(measure_dense(view, panel->host_problem.batch, device_view, &panel->items[i], &panel->bytes[i]));
        device_view->buffer = lane->buffers[i];
    }
    return RUNG_OK;
}

/* ---- Staging memory ---------------------------------------------------------------------------------------------- */

/* Assigns staging memory to the operands of a lane that are not contiguous, or to all operands. Returns the bytes
 * used. */
static int64_t assign_stages(const rungi_staged_panel *first, const rungi_staged_panel *last, bool all,
                             rungi_pipeline_lane *lane)
{
    int64_t used = 0;
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        bool is_contiguous = rungi_upload_is_contiguous(rungi_problem_view(&first->host_problem, i), first->items[i]) &&
                             rungi_upload_is_contiguous(rungi_problem_view(&last->host_problem, i), last->items[i]);
        if (!first->is_copied[i] || (is_contiguous && !all))
            continue;
        if (lane->staging)
            lane->stages[i] = lane->staging + used;
        used += rungi_round_up(first->bytes[i], STAGE_ALIGNMENT);
    }
    return used;
}

/* Returns the staging bytes per lane for all operands, or for those that are not contiguous. */
static int64_t stage_bytes(const rungi_pipeline *pipeline, const rungi_staged_panel *first,
                           const rungi_staged_panel *last, bool all)
{
    rungi_pipeline_lane unassigned = {0};
    return rungi_max(rungi_upload_chunk_bytes(pipeline, all), assign_stages(first, last, all, &unassigned));
}

/* Pinned memory is slow to allocate and pays only where panels overlap. Without it, contiguous operands are copied from
 * the caller's memory. */
static rung_status allocate_stages(rungi_pipeline *pipeline, const rungi_staged_panel *first,
                                   const rungi_staged_panel *last)
{
    int64_t bytes = stage_bytes(pipeline, first, last, true);
    bool is_pinned = pipeline->lane_count > 1 &&
                     rungi_device_pool_acquire_pinned(pipeline->context, pipeline->device, bytes * pipeline->lane_count,
                                                      &pipeline->pinned);
    if (!is_pinned)
        bytes = stage_bytes(pipeline, first, last, false);
    if (bytes == 0)
        return RUNG_OK;
    if (!is_pinned)
        pipeline->unpinned = rungi_allocate(pipeline->context, bytes * pipeline->lane_count, STAGE_ALIGNMENT);
    char *memory = is_pinned ? pipeline->pinned.memory : pipeline->unpinned;
    for (int i = 0; memory && i < pipeline->lane_count; i++) {
        pipeline->lanes[i].staging = memory + i * bytes;
        assign_stages(first, last, is_pinned, &pipeline->lanes[i]);
    }
    return memory ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

/* ---- Creating and destroying ------------------------------------------------------------------------------------- */

static rung_status acquire_lanes(rungi_pipeline *pipeline)
{
    pipeline->lane_count = (int)rungi_min(RUNGI_PIPELINE_LANES_MAX, pipeline->panels.count);
    for (int i = 0; i < pipeline->lane_count; i++) {
        rungi_pipeline_lane *lane = &pipeline->lanes[i];
        lane->panel = -1;
        TRY(rungi_device_pool_acquire_queue(pipeline->context, pipeline->device, &lane->queue));
        if (pipeline->lane_count > 1)
            TRY(rung_event_create(pipeline->device, &lane->staging_free));
    }
    return RUNG_OK;
}

static rung_status create_buffers(rungi_pipeline *pipeline, const rungi_staged_panel *first)
{
    int64_t workspace_bytes = pipeline->plans[0]->info.workspace_bytes;
    if (pipeline->plans[1])
        workspace_bytes = rungi_max(workspace_bytes, pipeline->plans[1]->info.workspace_bytes);
    for (int i = 0; i < pipeline->lane_count; i++) {
        rungi_pipeline_lane *lane = &pipeline->lanes[i];
        for (int j = 0; j < RUNGI_OPERAND_COUNT; j++)
            if (first->is_copied[j])
                TRY(rungi_buffer_create_on_queue(lane->queue, first->bytes[j], &lane->buffers[j]));
        if (workspace_bytes > 0)
            TRY(rungi_buffer_create_on_queue(lane->queue, workspace_bytes, &lane->workspace));
    }
    return RUNG_OK;
}

/* Creates the buffers of shared operands. The plans depend on the strides and alignment in them. */
static rung_status create_shared_buffers(rungi_pipeline *pipeline)
{
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        rung_matrix *device_view = rungi_problem_operand(&pipeline->device_problem, i);
        int64_t items, bytes;
        if (!rungi_pipeline_is_shared(pipeline, i))
            continue;
        TRY(measure_dense(rungi_problem_view(pipeline->problem, i), pipeline->problem->batch, device_view, &items,
                          &bytes));
        TRY(rungi_buffer_create_on_queue(pipeline->lanes[0].queue, bytes, &pipeline->shared[i]));
        device_view->buffer = pipeline->shared[i];
    }
    return RUNG_OK;
}

static rung_status create_pipeline(rungi_pipeline *pipeline)
{
    const rungi_panels *panels = &pipeline->panels;
    rung_plan_options options = rungi_plan_options(NULL, NULL);
    rungi_staged_panel first, last;
    TRY(acquire_lanes(pipeline));
    TRY(rungi_timeline_align_clocks(&pipeline->timeline, pipeline->lanes[0].queue));
    TRY(create_shared_buffers(pipeline));
    TRY(rungi_upload_create_scales(pipeline));
    TRY(describe_panel(pipeline, &pipeline->lanes[0], 0, &first));
    TRY(describe_panel(pipeline, &pipeline->lanes[0], panels->count - 1, &last));
    TRY(rungi_plan_create_normalized(pipeline->device, &first.device_problem, &options, &pipeline->plans[0]));
    if (panels->extent % panels->step != 0)
        TRY(rungi_plan_create_normalized(pipeline->device, &last.device_problem, &options, &pipeline->plans[1]));
    TRY(create_buffers(pipeline, &first));
    return allocate_stages(pipeline, &first, &last);
}

/* Waits for all queues after a failure, since work in flight may still use the memory that is freed. */
static void destroy_pipeline(rungi_pipeline *pipeline, rung_status status)
{
    for (int i = 0; status != RUNG_OK && i < pipeline->lane_count; i++)
        if (pipeline->lanes[i].queue)
            rung_queue_finish(pipeline->lanes[i].queue);
    if (status == RUNG_STATUS_DEVICE_LOST)
        rungi_device_pool_drop_device(pipeline->context, pipeline->device);
    rung_plan_destroy(pipeline->plans[0]);
    rung_plan_destroy(pipeline->plans[1]);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        rung_buffer_destroy(pipeline->shared[i]);
    rungi_upload_free_scales(pipeline);
    for (int i = 0; i < pipeline->lane_count; i++) {
        rungi_pipeline_lane *lane = &pipeline->lanes[i];
        for (int j = 0; j < RUNGI_OPERAND_COUNT; j++)
            rung_buffer_destroy(lane->buffers[j]);
        rung_buffer_destroy(lane->workspace);
        rung_event_destroy(lane->staging_free);
        if (lane->queue)
            rungi_device_pool_release_queue(pipeline->context, lane->queue);
    }
    rungi_device_pool_release_pinned(pipeline->context, pipeline->device, &pipeline->pinned);
    rungi_release(pipeline->context, pipeline->unpinned);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static rung_status run_panel(rungi_pipeline *pipeline, int lane, const rungi_staged_panel *panel, bool is_last)
{
    rung_plan *plan = is_last && pipeline->plans[1] ? pipeline->plans[1] : pipeline->plans[0];
    rung_run_options options = {.size = sizeof(rung_run_options),
                                .wait = &pipeline->shared_ready,
                                .wait_count = pipeline->shared_ready != NULL,
                                .workspace = pipeline->lanes[lane].workspace};
    rung_problem given = rungi_problem_denormalize(&panel->device_problem);
    TRY(rungi_timeline_add(&pipeline->timeline, plan->info.kernel, lane, 0, &options.signal));
    return rung_plan_run(plan, pipeline->lanes[lane].queue, &given, &options);
}

static rung_status download_panel(rungi_pipeline *pipeline, int number, const rungi_staged_panel *panel)
{
    rungi_pipeline_lane *lane = &pipeline->lanes[number];
    rung_run_options options = {.size = sizeof(rung_run_options)};
    int64_t bytes = panel->bytes[RUNGI_C];
    if (!panel->is_copied[RUNGI_C])
        return RUNG_OK;
    void *to = lane->stages[RUNGI_C] ? lane->stages[RUNGI_C] : rungi_matrix_first_element(&panel->host_problem.c);
    TRY(rungi_timeline_add(&pipeline->timeline, "C down", number, bytes, &options.signal));
    return rung_buffer_read(lane->queue, lane->buffers[RUNGI_C], 0, bytes, to, &options);
}

/* Waits for the panel of a lane and unpacks its C. */
static rung_status finish_panel(rungi_pipeline *pipeline, rungi_pipeline_lane *lane)
{
    rungi_staged_panel panel;
    int64_t index = lane->panel;
    if (index < 0)
        return RUNG_OK;
    lane->panel = -1;
    TRY(rung_queue_finish(lane->queue));
    TRY(describe_panel(pipeline, lane, index, &panel));
    if (!lane->stages[RUNGI_C] || !panel.is_copied[RUNGI_C])
        return RUNG_OK;
    rung_matrix staged = panel.device_problem.c;
    staged.buffer = NULL;
    staged.data = lane->stages[RUNGI_C];
    return rungi_upload_copy_items(pipeline, "unpack", &staged, &panel.host_problem.c, panel.items[RUNGI_C],
                                   panel.bytes[RUNGI_C]);
}

static rung_status start_panel(rungi_pipeline *pipeline, int64_t index)
{
    rungi_staged_panel panel;
    int number = (int)(index % pipeline->lane_count);
    rungi_pipeline_lane *lane = &pipeline->lanes[number];
    TRY(finish_panel(pipeline, lane));
    TRY(rungi_upload_wait_for_staging(lane));
    TRY(describe_panel(pipeline, lane, index, &panel));
    TRY(rungi_upload_panel(pipeline, number, &panel));
    TRY(run_panel(pipeline, number, &panel, index == pipeline->panels.count - 1));
    TRY(download_panel(pipeline, number, &panel));
    lane->panel = index;
    return RUNG_OK;
}

static rung_status run_pipeline(rungi_pipeline *pipeline)
{
    TRY(create_pipeline(pipeline));
    TRY(rungi_upload_scales(pipeline));
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (rungi_pipeline_is_shared(pipeline, i))
            TRY(rungi_upload_shared(pipeline, i));
    for (int64_t i = 0; i < pipeline->panels.count; i++)
        TRY(start_panel(pipeline, i));
    for (int i = 0; i < pipeline->lane_count; i++)
        TRY(finish_panel(pipeline, &pipeline->lanes[(pipeline->panels.count + i) % pipeline->lane_count]));
    return RUNG_OK;
}

rung_status rungi_staging_multiply(rung_context *context, rung_device *device, const rung_problem *problem)
{
    rungi_pipeline pipeline = {.context = context, .device = device, .problem = problem, .device_problem = *problem};
    rungi_timeline_begin(&pipeline.timeline, device);
    pipeline.panels = rungi_panels_of(problem, context->overlap);
    rung_status status = run_pipeline(&pipeline);
    rungi_saved_error first = rungi_error_save(); /* failures of the cleanup are not reported */
    destroy_pipeline(&pipeline, status);
    rungi_error_restore(&first);
    return rungi_timeline_end(&pipeline.timeline, status);
}
