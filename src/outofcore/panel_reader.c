/* SPDX-License-Identifier: Apache-2.0 */
/* panel_reader.c - the reader thread of a worker. It takes blocks from the queue and reads their slices of A one ahead of
 * the multiplication. After each slice it reads a part of the next panel of B. See worker.h. */
#include "base/try.h"
#include "outofcore/worker.h"

/* Loads part `part` of `parts` of the lines of a panel into `to`. Uploads go through the staging buffer, as many whole lines
 * at a time as fit. */
static rung_status load_lines(rungi_worker *worker, const rung_outofcore_matrix *from, rung_matrix panel, int64_t part,
                              int64_t parts, rung_buffer *to)
{
    bool is_column_major = rungi_outofcore_matrix_is_column_major(from);
    int64_t lines = is_column_major ? panel.cols : panel.rows;
    int64_t line_bytes = (is_column_major ? panel.rows : panel.cols) * rung_type_size(panel.type);
    int64_t first = rungi_part_start(lines, parts, part), end = rungi_part_start(lines, parts, part + 1);
    if (line_bytes == 0)
        return RUNG_OK;
    int64_t step = worker->is_host_memory ? lines : rungi_max(1, RUNGI_OUTOFCORE_STAGING_BYTES / line_bytes);
    for (int64_t i = first; i < end; i += step) {
        int64_t count = rungi_min(step, end - i);
        char *memory = worker->is_host_memory ? (char *)rung_buffer_native(to) + i * line_bytes
                                              : worker->reader_staging;
        rung_matrix group = is_column_major ? rung_matrix_block(panel, 0, i, panel.rows, count)
                                            : rung_matrix_block(panel, i, 0, count, panel.cols);
        TRY(rungi_outofcore_matrix_load(from, group, is_column_major, memory));
        if (!worker->is_host_memory)
            TRY(rungi_worker_upload(worker, worker->reader_queue, to, i * line_bytes, count * line_bytes, memory));
    }
    rungi_job_count(worker->job, &worker->job->counts.read_bytes, (end - first) * line_bytes);
    return RUNG_OK;
}

/* Position of the reader. */
typedef struct panel_read {
    rungi_worker *worker;
    rungi_outofcore_block block;
    int64_t number, serial; /* of the block in C, and of this take of a block */
    int slice_buffer;       /* for the next slice */
    int b_panel;            /* buffer with the panel of B that is complete */
} panel_read_t;

static rung_status load_a_slice(const panel_read_t *read, int64_t panel, int64_t index, const rungi_outofcore_slice *to)
{
    const rungi_job *job = read->worker->job;
    const rungi_outofcore_block *block = &read->block;
    rung_matrix slice = rung_matrix_block(
        job->problem->a.view, block->row + index * rungi_outofcore_slice_rows(block->rows),
        panel * job->blocking.panel_depth, rungi_outofcore_slice_size(block->rows, index),
        rungi_outofcore_panel_depth(&job->sizes, &job->blocking, panel));
    return load_lines(read->worker, &job->problem->a, slice, 0, 1, to->a);
}

static rung_status load_b_panel(const panel_read_t *read, int64_t panel, int64_t part, int64_t parts, int b_panel)
{
    const rungi_job *job = read->worker->job;
    rung_matrix view = rung_matrix_block(job->problem->b.view, panel * job->blocking.panel_depth, read->block.col,
                                         rungi_outofcore_panel_depth(&job->sizes, &job->blocking, panel),
                                         read->block.cols);
    return load_lines(read->worker, &job->problem->b, view, part, parts, read->worker->b_panels[b_panel].memory);
}

/* Returns whether the block is still computed by this device. The caller holds the mutex. */
static bool is_block_active(const panel_read_t *read)
{
    return !read->worker->is_stopped && read->worker->dropped_serial < read->serial;
}

/* Waits until the buffer of a slice, or of a panel of B, is free; one of them is NULL. Returns false if the block is no
 * longer computed by this device. */
static bool wait_for_buffer(const panel_read_t *read, const rungi_outofcore_slice *slice,
                            const rungi_outofcore_b_panel *b_panel)
{
    rungi_worker *worker = read->worker;
    pthread_mutex_lock(&worker->mutex);
    while ((slice ? slice->is_ready : b_panel->pending_slices > 0 && !b_panel->is_packed) && is_block_active(read))
        pthread_cond_wait(&worker->changed, &worker->mutex);
    bool is_active = is_block_active(read);
    pthread_mutex_unlock(&worker->mutex);
    return is_active;
}

/* Hands a slice to the computing thread. */
static void publish_slice(panel_read_t *read, int64_t panel, int64_t index)
{
    rungi_worker *worker = read->worker;
    rungi_outofcore_slice *slice = &worker->slices[read->slice_buffer];
    rungi_outofcore_b_panel *b_panel = &worker->b_panels[read->b_panel];
    pthread_mutex_lock(&worker->mutex);
    *slice = (rungi_outofcore_slice){.a = slice->a,
                                     .is_ready = true,
                                     .block = read->number,
                                     .panel = panel,
                                     .index = index,
                                     .serial = read->serial,
                                     .b_panel = read->b_panel};
    b_panel->pending_slices++;
    if (index == 0)
        b_panel->is_packed = false;
    rungi_worker_unlock_and_notify(worker);
    read->slice_buffer = !read->slice_buffer;
}

/* Reads one slice of A and a part of the next panel of B. Sets *is_active to false if the block is no longer computed by
 * this device. */
static rung_status read_slice(panel_read_t *read, int64_t panel, int64_t index, bool *is_active)
{
    rungi_worker *worker = read->worker;
    const rungi_outofcore_slice *slice = &worker->slices[read->slice_buffer];
    int next = (read->b_panel + 1) % rungi_outofcore_b_panel_buffers(worker);
    *is_active = wait_for_buffer(read, slice, NULL);
    if (!*is_active)
        return RUNG_OK;
    TRY(load_a_slice(read, panel, index, slice));
    publish_slice(read, panel, index);
    if (panel + 1 == worker->job->blocking.panels)
        return RUNG_OK;
    *is_active = wait_for_buffer(read, NULL, &worker->b_panels[next]);
    return *is_active ? load_b_panel(read, panel + 1, index, rungi_outofcore_slice_count(read->block.rows), next)
                      : RUNG_OK;
}

static rung_status read_block_panels(panel_read_t *read)
{
    rungi_worker *worker = read->worker;
    int64_t panels = worker->job->blocking.panels, slices = rungi_outofcore_slice_count(read->block.rows);
    bool is_active = true;
    read->b_panel = (read->b_panel + 1) % rungi_outofcore_b_panel_buffers(worker);
    if (!wait_for_buffer(read, NULL, &worker->b_panels[read->b_panel]))
        return RUNG_OK;
    TRY(load_b_panel(read, 0, 0, 1, read->b_panel));
    for (int64_t panel = 0; is_active && panel < panels; panel++) {
        for (int64_t i = 0; is_active && i < slices; i++)
            TRY(read_slice(read, panel, i, &is_active));
        if (panel + 1 < panels)
            read->b_panel = (read->b_panel + 1) % rungi_outofcore_b_panel_buffers(worker);
    }
    return RUNG_OK;
}

/* Takes blocks and reads them until the queue is empty or the worker stops. */
static rung_status read_blocks(rungi_worker *worker)
{
    rungi_job *job = worker->job;
    panel_read_t read = {.worker = worker};
    bool is_stopped = false;
    while (!is_stopped && (read.number = rungi_block_queue_take(&job->block_queue, worker->index)) >= 0) {
        rung_status status = rungi_worker_hold_block(worker, read.number);
        if (status != RUNG_OK) {
            rungi_block_queue_return(&job->block_queue, worker->index, read.number, 1);
            return status;
        }
        read.block = rungi_outofcore_block_at(&job->sizes, &job->blocking, read.number);
        read.serial++;
        TRY(read_block_panels(&read));
        pthread_mutex_lock(&worker->mutex);
        is_stopped = worker->is_stopped;
        pthread_mutex_unlock(&worker->mutex);
    }
    return RUNG_OK;
}

void *rungi_panel_reader_run(void *user)
{
    rungi_worker *worker = user;
    rung_status status = read_blocks(worker);
    if (status != RUNG_OK)
        rungi_worker_fail(worker, status);
    rungi_worker_set_flag(worker, &worker->is_read);
    return NULL;
}
