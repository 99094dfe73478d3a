/* SPDX-License-Identifier: Apache-2.0 */
/* upload.c - copies operands of a staged multiply to the device: shared operands in chunks before the panels, all
 * others with each panel. Operands with gaps are packed into staging memory first. */
#include "core/staging/pipeline.h"

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/quantization.h"

bool rungi_upload_is_contiguous(const rung_matrix *view, int64_t items)
{
    rung_matrix dense;
    int64_t elements;
    bool begins_inside_byte = rungi_type_is_4_bit(view->type) && view->offset % 2 != 0;
    return rungi_matrix_is_dense(view) && !view->batch_offsets && !begins_inside_byte &&
           (items < 2 || (rungi_matrix_dense(view, &dense, &elements) && view->batch_stride == elements));
}

rung_status rungi_upload_copy_items(rungi_pipeline *pipeline, const char *name, const rung_matrix *from,
                                    const rung_matrix *to, int64_t items, int64_t bytes)
{
    int64_t start = rungi_timeline_now(&pipeline->timeline);
    for (int64_t i = 0; i < items; i++) {
        rung_matrix source = rungi_matrix_item(from, i), target = rungi_matrix_item(to, i);
        rungi_matrix_copy(&source, &target);
    }
    return rungi_timeline_add_host(&pipeline->timeline, name, -1, start, bytes);
}

rung_status rungi_upload_wait_for_staging(rungi_pipeline_lane *lane)
{
    rung_event *wait = lane->wait;
    lane->wait = NULL;
    return wait ? rung_event_wait(wait) : RUNG_OK;
}

/* One copy of an operand, or of a chunk of it, to a device buffer. */
typedef struct transfer {
    rungi_operand operand;
    const rung_matrix *view;
    rung_matrix dense; /* in the device buffer */
    int64_t offset, items, bytes;
    void *staging; /* NULL: copied from the caller's memory */
} transfer_t;

/* Packs and copies on the lane's queue. The copy signals *done, or the timeline's event, which then replaces *done. */
static rung_status upload(rungi_pipeline *pipeline, int lane, const transfer_t *transfer, rung_event **done)
{
    static const char *const names[] = {"A up", "B up", "C up", "bias up", "multiplier up", "residual up", "C up"};
    rung_event *timed;
    void *from = transfer->staging;
    RUNGI_ASSERT(transfer->dense.buffer && transfer->bytes >= 0 && transfer->offset >= 0 &&
                 transfer->bytes <= transfer->dense.buffer->bytes - transfer->offset);
    if (from) {
        rung_matrix staged = transfer->dense;
        staged.buffer = NULL;
        staged.data = from;
        TRY(rungi_upload_copy_items(pipeline, "pack", transfer->view, &staged, transfer->items, transfer->bytes));
    } else {
        from = rungi_matrix_first_element(transfer->view);
    }
    TRY(rungi_timeline_add(&pipeline->timeline, names[transfer->operand], lane, transfer->bytes, &timed));
    if (timed)
        *done = timed;
    return rung_buffer_write(pipeline->lanes[lane].queue, transfer->dense.buffer, transfer->offset, transfer->bytes,
                             from, &(rung_run_options){.size = sizeof(rung_run_options), .signal = *done});
}

/* ---- Shared operands --------------------------------------------------------------------------------------------- */

/* The contiguous rows or columns of a dense operand. */
typedef struct panel_lines {
    bool is_rows;
    int64_t count, bytes; /* lines, and bytes per line */
    int64_t step;         /* lines per chunk */
} panel_lines_t;

static panel_lines_t lines_of(const rungi_pipeline *pipeline, rungi_operand operand)
{
    const rung_matrix *dense = rungi_problem_view(&pipeline->device_problem, operand);
    int64_t bytes = pipeline->shared[operand]->bytes;
    panel_lines_t lines = {.is_rows = dense->row_stride >= dense->col_stride};
    int64_t stride = lines.is_rows ? dense->row_stride : dense->col_stride;
    lines.bytes = stride > 0 ? stride * rung_type_size(dense->type) : bytes;
    RUNGI_ASSERT(lines.bytes > 0);
    lines.count = bytes / lines.bytes;
    lines.step = rungi_max(pipeline->panels.bytes / lines.bytes, 1);
    return lines;
}

int64_t rungi_upload_chunk_bytes(const rungi_pipeline *pipeline, bool all)
{
    int64_t largest = 0;
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        if (!rungi_pipeline_is_shared(pipeline, i) ||
            (!all && rungi_upload_is_contiguous(rungi_problem_view(pipeline->problem, i), 1)))
            continue;
        panel_lines_t lines = lines_of(pipeline, i);
        largest = rungi_max(largest, rungi_min(lines.step, lines.count) * lines.bytes);
    }
    return largest;
}

/* Copies lines of a shared operand through the staging memory of the next lane, so that one chunk is packed while
 * another is copied. All chunks use the first queue, so that one event is enough to wait for. */
static rung_status upload_chunk(rungi_pipeline *pipeline, const transfer_t *operand, panel_lines_t lines, int64_t first)
{
    RUNGI_ASSERT(pipeline->lane_count > 0 && pipeline->lane_count <= RUNGI_PIPELINE_LANES_MAX);
    rungi_pipeline_lane *lane = &pipeline->lanes[pipeline->chunks++ % pipeline->lane_count];
    int64_t count = rungi_min(lines.step, lines.count - first);
    rung_matrix view = *operand->view;
    transfer_t chunk = *operand;
    rung_event *done = lane->staging_free;
    if (lines.count > 1) {
        view = lines.is_rows ? rung_matrix_block(view, first, 0, count, view.cols)
                             : rung_matrix_block(view, 0, first, view.rows, count);
        *(lines.is_rows ? &chunk.dense.rows : &chunk.dense.cols) = count;
    }
    chunk.view = &view;
    chunk.offset = first * lines.bytes;
    chunk.bytes = count * lines.bytes;
    chunk.staging = operand->staging ? lane->staging : NULL;
    TRY(rungi_upload_wait_for_staging(lane));
    rung_status status = upload(pipeline, 0, &chunk, &done);
    lane->wait = pipeline->shared_ready = done;
    return status;
}

rung_status rungi_upload_shared(rungi_pipeline *pipeline, rungi_operand operand)
{
    const rung_matrix *view = rungi_problem_view(pipeline->problem, operand);
    transfer_t whole = {
        .operand = operand, .view = view, .items = 1, .dense = *rungi_problem_view(&pipeline->device_problem, operand)};
    panel_lines_t lines = lines_of(pipeline, operand);
    if (pipeline->pinned.memory || !rungi_upload_is_contiguous(view, 1))
        whole.staging = pipeline->lanes[0].staging;
    else
        lines.step = lines.count;
    for (int64_t first = 0; first < lines.count; first += lines.step)
        TRY(upload_chunk(pipeline, &whole, lines, first));
    return RUNG_OK;
}

/* ---- Panels ------------------------------------------------------------------------------------------------------ */

rung_status rungi_upload_panel(rungi_pipeline *pipeline, int lane, const rungi_staged_panel *panel)
{
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        rung_event *unused = NULL;
        transfer_t transfer = {.operand = i,
                               .view = rungi_problem_view(&panel->host_problem, i),
                               .dense = *rungi_problem_view(&panel->device_problem, i),
                               .items = panel->items[i],
                               .bytes = panel->bytes[i],
                               .staging = pipeline->lanes[lane].stages[i]};
        if (panel->is_copied[i] && (i != RUNGI_C || rungi_panels_read_result(&panel->host_problem)))
            TRY(upload(pipeline, lane, &transfer, &unused));
    }
    return RUNG_OK;
}

/* ---- Scales ------------------------------------------------------------------------------------------------------ */

/* Describes a copy of scales or zero points on the device and creates its buffer. */
static rung_status create_scales(rungi_pipeline *pipeline, const rung_matrix *host, rung_matrix *device,
                                 rungi_staged_scales *scales)
{
    if (rungi_matrix_is_empty(host))
        return RUNG_OK;
    if (!rungi_matrix_dense_batch(host, pipeline->problem->batch, device, &scales->items, &scales->bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "scales or zero points do not fit the address space");
    if (!rungi_upload_is_contiguous(host, scales->items)) {
        scales->staging = rungi_allocate_zeroed(pipeline->context, (size_t)scales->bytes);
        TRY(rungi_allocated(scales->staging));
    }
    TRY(rungi_buffer_create_on_queue(pipeline->lanes[0].queue, scales->bytes, &scales->buffer));
    device->buffer = scales->buffer;
    return RUNG_OK;
}

/* Creates the copies of the scales and zero points that `given` has, if it is not NULL. */
static rung_status create_quantization(rungi_pipeline *pipeline, const rung_quantization **given,
                                       rungi_staged_quantization *staged)
{
    if (!*given)
        return RUNG_OK;
    TRY(rungi_quantization_read(*given, &staged->host));
    staged->device = staged->host;
    *given = &staged->device;
    TRY(create_scales(pipeline, &staged->host.scales, &staged->device.scales, &staged->scales[0]));
    return create_scales(pipeline, &staged->host.zero_points, &staged->device.zero_points, &staged->scales[1]);
}

rung_status rungi_upload_create_scales(rungi_pipeline *pipeline)
{
    TRY(create_quantization(pipeline, &pipeline->device_problem.a_quantization, &pipeline->a_quantization));
    return create_quantization(pipeline, &pipeline->device_problem.b_quantization, &pipeline->b_quantization);
}

static rung_status upload_scales(rungi_pipeline *pipeline, const rung_matrix *host, const rung_matrix *device,
                                 const rungi_staged_scales *scales)
{
    rung_run_options options = {.size = sizeof options};
    const void *from = scales->staging;
    if (!scales->buffer)
        return RUNG_OK;
    if (from) {
        rung_matrix staged = *device;
        staged.buffer = NULL;
        staged.data = scales->staging;
        TRY(rungi_upload_copy_items(pipeline, "pack", host, &staged, scales->items, scales->bytes));
    } else {
        from = rungi_matrix_first_element(host);
    }
    TRY(rungi_timeline_add(&pipeline->timeline, "scales up", 0, scales->bytes, &options.signal));
    return rung_buffer_write(pipeline->lanes[0].queue, scales->buffer, 0, scales->bytes, from, &options);
}

static rung_status upload_quantization(rungi_pipeline *pipeline, const rungi_staged_quantization *staged)
{
    TRY(upload_scales(pipeline, &staged->host.scales, &staged->device.scales, &staged->scales[0]));
    return upload_scales(pipeline, &staged->host.zero_points, &staged->device.zero_points, &staged->scales[1]);
}

rung_status rungi_upload_scales(rungi_pipeline *pipeline)
{
    TRY(upload_quantization(pipeline, &pipeline->a_quantization));
    return upload_quantization(pipeline, &pipeline->b_quantization);
}

void rungi_upload_free_scales(rungi_pipeline *pipeline)
{
    rungi_staged_scales *all[] = {pipeline->a_quantization.scales, pipeline->b_quantization.scales};
    for (int i = 0; i < 4; i++) {
        rung_buffer_destroy(all[i / 2][i % 2].buffer);
        rungi_release(pipeline->context, all[i / 2][i % 2].staging);
    }
}
