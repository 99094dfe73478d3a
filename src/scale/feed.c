/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - takes blocks, and fetches their panels one pair ahead. */
#include "core/checked.h"
#include "scale/stored.h"
#include "scale/worker.h"

/* Copies dense bytes that stand in this process to a buffer of another's memory. */
static rung_status send(rungi_worker *worker, rung_buffer *buffer, int64_t offset, int64_t bytes)
{
    rung_status status = rung_buffer_write(worker->feed_queue, buffer, offset, bytes, worker->feed_slice, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(worker->feed_queue);
    if (status == RUNG_OK)
        rungi_job_count(worker->job, RUNGI_UP, bytes);
    return status;
}

/* A panel, in slices of whole lines where it goes to other memory. */
static rung_status fetch(rungi_worker *worker, const rung_stored *from, rung_matrix panel, rung_buffer *to)
{
    bool by_columns = rungi_stored_by_columns(from);
    int64_t size = rung_type_size(panel.type), lines = by_columns ? panel.cols : panel.rows;
    int64_t line = (by_columns ? panel.rows : panel.cols) * size;
    int64_t step = worker->is_here || line == 0 ? lines : line > RUNGI_SLICE ? 1 : RUNGI_SLICE / line;
    char *memory = worker->is_here ? rung_buffer_native(to) : worker->feed_slice;
    rung_status status = RUNG_OK;
    if (line == 0)
        return RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < lines; i += step) {
        int64_t count = rungi_smaller(step, lines - i);
        rung_matrix slice = by_columns ? rung_matrix_block(panel, 0, i, panel.rows, count)
                                       : rung_matrix_block(panel, i, 0, count, panel.cols);
        status = rungi_stored_get(from, slice, by_columns, memory);
        if (status == RUNG_OK && !worker->is_here)
            status = send(worker, to, i * line, count * line);
    }
    if (status == RUNG_OK)
        rungi_job_count(worker->job, RUNGI_READ, lines * line);
    return status;
}

static rung_status fetch_pair(rungi_worker *worker, const rungi_panels *to, int64_t index, int64_t panel)
{
    const rungi_job *job = worker->job;
    const rung_large_problem *problem = job->problem;
    rungi_block block = rungi_block_at(&job->whole, &job->cut, index);
    int64_t first = panel * job->cut.depth, depth = rungi_panel_depth(&job->whole, &job->cut, panel);
    rung_status status = fetch(worker, &problem->a,
                               rung_matrix_block(problem->a.view, block.row, first, block.rows, depth), to->a);
    if (status == RUNG_OK)
        status = fetch(worker, &problem->b,
                       rung_matrix_block(problem->b.view, first, block.col, depth, block.cols), to->b);
    return status;
}

/* False if the block is not gone on with. */
static bool wait_for_room(rungi_worker *worker, const rungi_panels *panels, int64_t serial)
{
    pthread_mutex_lock(&worker->mutex);
    while (panels->is_ready && !worker->is_over && worker->dropped < serial)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    bool is_wanted = !worker->is_over && worker->dropped < serial;
    pthread_mutex_unlock(&worker->mutex);
    return is_wanted;
}

static void publish(rungi_worker *worker, rungi_panels *panels, int64_t block, int64_t index, int64_t serial)
{
    pthread_mutex_lock(&worker->mutex);
    panels->block = block;
    panels->index = index;
    panels->serial = serial;
    panels->is_ready = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

/* The panels of one block; `turn` says into which place the next goes. */
static rung_status feed_block(rungi_worker *worker, int64_t block, int64_t serial, int *turn)
{
    for (int64_t i = 0; i < worker->job->cut.panels; i++) {
        rungi_panels *panels = &worker->panels[*turn];
        if (!wait_for_room(worker, panels, serial))
            break;
        rung_status status = fetch_pair(worker, panels, block, i);
        if (status != RUNG_OK)
            return status;
        publish(worker, panels, block, i, serial);
        *turn = !*turn;
    }
    return RUNG_OK;
}

void *rungi_feed(void *user)
{
    rungi_worker *worker = user;
    rung_status status = RUNG_OK;
    int64_t block, serial = 0;
    int turn = 0;
    while (status == RUNG_OK && (block = rungi_share_take(&worker->job->share, worker->who)) >= 0) {
        rungi_worker_hold(worker, block);
        status = feed_block(worker, block, ++serial, &turn);
        pthread_mutex_lock(&worker->mutex);
        bool is_over = worker->is_over;
        pthread_mutex_unlock(&worker->mutex);
        if (is_over)
            break;
    }
    if (status != RUNG_OK)
        rungi_worker_fail(worker, status);
    pthread_mutex_lock(&worker->mutex);
    worker->is_fed = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}
