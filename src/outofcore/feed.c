/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - takes blocks, and fetches their strips of A one ahead, and with each a piece of the next panel of B. */
#include "core/checked.h"
#include "outofcore/stored.h"
#include "outofcore/worker.h"

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

/* Part `part` of `parts` of the lines of a panel, in slices of whole lines where it goes to other memory. */
static rung_status fetch(rungi_worker *worker, const rungi_stored *from, rung_matrix panel, int64_t part, int64_t parts,
                         rung_buffer *to)
{
    bool by_columns = rungi_stored_by_columns(from);
    int64_t size = rung_type_size(panel.type), lines = by_columns ? panel.cols : panel.rows;
    int64_t line = (by_columns ? panel.rows : panel.cols) * size;
    int64_t first = rungi_part_start(lines, parts, part), end = rungi_part_start(lines, parts, part + 1);
    int64_t step = worker->is_here || line == 0 ? lines : line > RUNGI_SLICE ? 1 : RUNGI_SLICE / line;
    rung_status status = RUNG_OK;
    if (line == 0)
        return RUNG_OK;
    for (int64_t i = first; status == RUNG_OK && i < end; i += step) {
        int64_t count = rungi_smaller(step, end - i);
        char *memory = worker->is_here ? (char *)rung_buffer_native(to) + i * line : worker->feed_slice;
        rung_matrix slice = by_columns ? rung_matrix_block(panel, 0, i, panel.rows, count)
                                       : rung_matrix_block(panel, i, 0, count, panel.cols);
        status = rungi_stored_get(from, slice, by_columns, memory);
        if (status == RUNG_OK && !worker->is_here)
            status = send(worker, to, i * line, count * line);
    }
    if (status == RUNG_OK)
        rungi_job_count(worker->job, RUNGI_READ, (end - first) * line);
    return status;
}

/* What is fed: where in the sequence, and into which places. */
typedef struct feeding {
    rungi_worker *worker;
    rungi_block block;
    int64_t number, serial; /* of the block, and of its taking */
    int turn, place;        /* of the next strip, and of the panel of B that is complete */
} feeding_t;

static rung_status fetch_strip(const feeding_t *feeding, int64_t panel, int64_t index, const rungi_strip *to)
{
    const rungi_job *job = feeding->worker->job;
    const rungi_block *block = &feeding->block;
    int64_t row = block->row + index * rungi_strip_rows(block->rows), rows = rungi_strip_size(block->rows, index);
    rung_matrix strip = rung_matrix_block(job->problem->a.view, row, panel * job->blocking.panel_depth, rows,
                                          rungi_panel_depth(&job->whole, &job->blocking, panel));
    return fetch(feeding->worker, &job->problem->a, strip, 0, 1, to->a);
}

static rung_status fetch_across(const feeding_t *feeding, int64_t panel, int64_t part, int64_t parts, int place)
{
    const rungi_job *job = feeding->worker->job;
    rung_matrix across = rung_matrix_block(job->problem->b.view, panel * job->blocking.panel_depth, feeding->block.col,
                                           rungi_panel_depth(&job->whole, &job->blocking, panel), feeding->block.cols);
    return fetch(feeding->worker, &job->problem->b, across, part, parts, feeding->worker->across[place].memory);
}

/* With the mutex: whether the block is gone on with. */
static bool is_wanted_still(const feeding_t *feeding)
{
    return !feeding->worker->is_over && feeding->worker->dropped < feeding->serial;
}

/* Both: false if the block is not gone on with. */
static bool wait_for_room(const feeding_t *feeding, const rungi_strip *strip)
{
    rungi_worker *worker = feeding->worker;
    pthread_mutex_lock(&worker->mutex);
    while (strip->is_ready && is_wanted_still(feeding))
        pthread_cond_wait(&worker->changed, &worker->mutex);
    bool is_wanted = is_wanted_still(feeding);
    pthread_mutex_unlock(&worker->mutex);
    return is_wanted;
}

static bool wait_for_place(const feeding_t *feeding, const rungi_across *across)
{
    rungi_worker *worker = feeding->worker;
    pthread_mutex_lock(&worker->mutex);
    while (across->users > 0 && !across->is_packed && is_wanted_still(feeding))
        pthread_cond_wait(&worker->changed, &worker->mutex);
    bool is_wanted = is_wanted_still(feeding);
    pthread_mutex_unlock(&worker->mutex);
    return is_wanted;
}

static void publish(feeding_t *feeding, int64_t panel, int64_t index)
{
    rungi_worker *worker = feeding->worker;
    rungi_strip *strip = &worker->strips[feeding->turn];
    pthread_mutex_lock(&worker->mutex);
    strip->block = feeding->number;
    strip->panel = panel;
    strip->index = index;
    strip->serial = feeding->serial;
    strip->b = feeding->place;
    strip->is_ready = true;
    worker->across[feeding->place].users++;
    if (index == 0)
        worker->across[feeding->place].is_packed = false;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    feeding->turn = !feeding->turn;
}

/* One strip, and a piece of the panel of B that comes next. `is_wanted` is false if the block is not gone on with. */
static rung_status feed_strip(feeding_t *feeding, int64_t panel, int64_t index, bool *is_wanted)
{
    rungi_worker *worker = feeding->worker;
    int next = (feeding->place + 1) % rungi_places(worker);
    *is_wanted = wait_for_room(feeding, &worker->strips[feeding->turn]);
    if (!*is_wanted)
        return RUNG_OK;
    rung_status status = fetch_strip(feeding, panel, index, &worker->strips[feeding->turn]);
    if (status != RUNG_OK)
        return status;
    publish(feeding, panel, index);
    if (panel + 1 == worker->job->blocking.panels)
        return RUNG_OK;
    *is_wanted = wait_for_place(feeding, &worker->across[next]);
    return *is_wanted ? fetch_across(feeding, panel + 1, index, rungi_strip_count(feeding->block.rows), next) : RUNG_OK;
}

/* All of one block. */
static rung_status feed_block(feeding_t *feeding)
{
    rungi_worker *worker = feeding->worker;
    bool is_wanted = true;
    feeding->place = (feeding->place + 1) % rungi_places(worker);
    if (!wait_for_place(feeding, &worker->across[feeding->place]))
        return RUNG_OK;
    rung_status status = fetch_across(feeding, 0, 0, 1, feeding->place);
    for (int64_t panel = 0; status == RUNG_OK && is_wanted && panel < worker->job->blocking.panels; panel++) {
        for (int64_t i = 0; status == RUNG_OK && is_wanted && i < rungi_strip_count(feeding->block.rows); i++)
            status = feed_strip(feeding, panel, i, &is_wanted);
        if (panel + 1 < worker->job->blocking.panels)
            feeding->place = (feeding->place + 1) % rungi_places(worker);
    }
    return status;
}

void *rungi_feed(void *user)
{
    rungi_worker *worker = user;
    rung_status status = RUNG_OK;
    feeding_t feeding = {.worker = worker};
    while (status == RUNG_OK && (feeding.number = rungi_share_take(&worker->job->share, worker->who)) >= 0) {
        status = rungi_worker_hold(worker, feeding.number);
        if (status != RUNG_OK) {
            rungi_share_give_back(&worker->job->share, worker->who, feeding.number, 1);
            break;
        }
        feeding.block = rungi_block_at(&worker->job->whole, &worker->job->blocking, feeding.number);
        feeding.serial++;
        status = feed_block(&feeding);
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
