/* SPDX-License-Identifier: Apache-2.0 */
/* compute.c - a device's memory and queues, its three threads, and the one that multiplies. */
#include "core/checked.h"
#include "outofcore/stored.h"
#include "outofcore/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double rungi_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int64_t rungi_strip_count(int64_t rows)
{
    return rungi_divide_up(rows, rungi_strip_rows(rows));
}

int64_t rungi_strip_size(int64_t rows, int64_t index)
{
    return rungi_smaller(rungi_strip_rows(rows), rows - index * rungi_strip_rows(rows));
}

int rungi_places(const rungi_worker *worker)
{
    return worker->packed ? 1 : 2;
}

/* ---- Failing, and what is held ------------------------------------------------------------------------------ */

void rungi_worker_fail(rungi_worker *worker, rung_status status)
{
    pthread_mutex_lock(&worker->mutex);
    if (worker->status == RUNG_OK) {
        worker->status = status;
        snprintf(worker->error, sizeof worker->error, "%s", rung_error_text());
    }
    worker->is_over = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    pthread_mutex_lock(&worker->job->mutex);
    if (worker->job->first_failed < 0)
        worker->job->first_failed = worker->who;
    pthread_mutex_unlock(&worker->job->mutex);
    if (status == RUNG_STATUS_IO || status == RUNG_STATUS_CANCELLED) /* no other device would do better */
        rungi_job_fail(worker->job, status);
    rungi_share_leave(&worker->job->share, worker->who);
}

/* With the mutex: returns where `block` is in the list of held blocks, or where there is room (-1); RUNGI_HELD if nowhere. */
static int find_held(const rungi_worker *worker, int64_t block)
{
    int i = 0;
    while (i < RUNGI_HELD && worker->held[i] != block)
        i++;
    return i;
}

/* A worker holds at most five blocks: one that is written out, one that waits for that and, where a block has a single strip,
 * two that are read and one that was just taken. */
rung_status rungi_worker_hold(rungi_worker *worker, int64_t block)
{
    pthread_mutex_lock(&worker->mutex);
    int i = find_held(worker, -1);
    if (i < RUNGI_HELD)
        worker->held[i] = block;
    pthread_mutex_unlock(&worker->mutex);
    if (i < RUNGI_HELD)
        return RUNG_OK;
    return rung_error_set(RUNG_STATUS_DEVICE_LOST,
                          "internal error: a device holds more than %d blocks; please report this", RUNGI_HELD);
}

void rungi_worker_release(rungi_worker *worker, int64_t block)
{
    pthread_mutex_lock(&worker->mutex);
    int i = find_held(worker, block);
    if (i < RUNGI_HELD)
        worker->held[i] = -1;
    pthread_mutex_unlock(&worker->mutex);
}

static void give_back_all(rungi_worker *worker)
{
    for (int i = 0; i < RUNGI_HELD; i++)
        if (worker->held[i] >= 0)
            rungi_share_give_back(&worker->job->share, worker->who, worker->held[i], 1);
}

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* A panel as it stands in its buffer. */
static rung_matrix panel_view(const rungi_stored *stored, int64_t rows, int64_t cols, rung_buffer *buffer)
{
    rung_type type = stored->view.type;
    return rungi_stored_by_columns(stored) ? rung_matrix_transpose(rung_matrix_in_buffer(type, cols, rows, buffer, 0))
                                           : rung_matrix_in_buffer(type, rows, cols, buffer, 0);
}

/* A strip of the block, times a panel of B. */
static rung_problem part_of(const rungi_worker *worker, const rungi_strip *strip)
{
    const rungi_job *job = worker->job;
    const rungi_task *whole = job->problem;
    rungi_block block = rungi_block_at(&job->whole, &job->blocking, strip->block);
    int64_t depth = rungi_panel_depth(&job->whole, &job->blocking, strip->panel);
    int64_t row = strip->index * rungi_strip_rows(block.rows), rows = rungi_strip_size(block.rows, strip->index);
    rung_type sums = rungi_task_sum_type(whole);
    rung_matrix c = rung_matrix_in_buffer(sums, block.rows, block.cols, worker->block, 0);
    rung_problem part = rung_problem_of(panel_view(&whole->a, rows, depth, strip->a),
                                        panel_view(&whole->b, depth, block.cols, worker->across[strip->b].memory),
                                        rung_matrix_block(c, row, 0, rows, block.cols));
    part.alpha = whole->alpha;
    part.beta = strip->panel == 0 ? whole->beta : 1;
    part.compute = whole->compute;
    return part;
}

/* Made at first use: there are as many shapes as ways to lie at an edge. */
static rung_status find_plan(rungi_worker *worker, const rung_problem *part, rung_plan **plan)
{
    rungi_shape shape = {.rows = part->c.rows, .cols = part->c.cols, .depth = part->a.cols};
    for (int i = 0; i < worker->shape_count; i++) {
        const rungi_shape *known = &worker->shapes[i];
        *plan = known->plan;
        if (known->rows == shape.rows && known->cols == shape.cols && known->depth == shape.depth)
            return RUNG_OK;
    }
    double began = rungi_now();
    rung_plan_options choice = rung_plan_options_default();
    if (worker->packed) {
        choice.packed_b = 1;
        choice.kernel = worker->kernel;
        choice.parameters = worker->parameters;
    }
    rung_status status = rung_plan_create(worker->device, part, &choice, &shape.plan);
    worker->planned += rungi_now() - began;
    if (status != RUNG_OK)
        return status;
    if (worker->shape_count == RUNGI_PLANS)
        rung_plan_destroy(worker->shapes[--worker->shape_count].plan);
    worker->shapes[worker->shape_count++] = shape;
    *plan = shape.plan;
    return RUNG_OK;
}

/* ---- Multiplying --------------------------------------------------------------------------------------------- */

/* Once for all strips: from then on the next panel may come to where this one stands. */
static rung_status pack(rungi_worker *worker, rung_plan *plan, const rung_problem *part, rungi_across *across)
{
    rung_status status = rung_plan_pack_b(plan, worker->queue, &part->b, worker->packed, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(worker->queue);
    pthread_mutex_lock(&worker->mutex);
    across->is_packed = status == RUNG_OK;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    return status;
}

/* The first panel goes behind the block before, whose memory it takes, as far as that is out. */
static bool wait_for_block(rungi_worker *worker, const rungi_strip *strip, const rung_problem *part)
{
    double began = rungi_now();
    if (strip->panel > 0)
        return true;
    if (strip->index == 0 && worker->job->problem->beta != 0)
        rungi_exchange_in(worker, strip->block);
    bool is_free = rungi_exchange_wait(worker, part->c.offset + part->c.rows * part->c.cols);
    worker->waited += rungi_now() - began;
    return is_free;
}

static rung_status multiply(rungi_worker *worker, const rungi_strip *strip)
{
    rung_problem part = part_of(worker, strip);
    rung_run_options options = rung_run_options_default();
    rung_plan *plan;
    options.packed_b = worker->packed;
    rung_status status = find_plan(worker, &part, &plan);
    if (status == RUNG_OK && worker->packed && strip->index == 0)
        status = pack(worker, plan, &part, &worker->across[strip->b]);
    if (status != RUNG_OK || !wait_for_block(worker, strip, &part))
        return status; /* where another thread has failed, it has said so */
    status = rung_plan_run(plan, worker->queue, &part, &options);
    rung_status finished = rung_queue_finish(worker->queue);
    return status == RUNG_OK ? finished : status;
}

/* The next strip; NULL if there will be none. */
static rungi_strip *wait_for_strip(rungi_worker *worker, int turn, double *waited)
{
    rungi_strip *strip = &worker->strips[turn];
    double began = rungi_now();
    pthread_mutex_lock(&worker->mutex);
    while (!strip->is_ready && !worker->is_fed && !worker->is_over)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    bool is_there = strip->is_ready && !worker->is_over;
    pthread_mutex_unlock(&worker->mutex);
    *waited = rungi_now() - began;
    return is_there ? strip : NULL;
}

static void make_room(rungi_worker *worker, rungi_strip *strip)
{
    pthread_mutex_lock(&worker->mutex);
    strip->is_ready = false;
    worker->across[strip->b].users--;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

static void drop(rungi_worker *worker, const rungi_strip *done, double rest)
{
    pthread_mutex_lock(&worker->mutex);
    worker->dropped = done->serial;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    rungi_worker_release(worker, done->block);
    rungi_share_give_back(&worker->job->share, worker->who, done->block, rest);
}

/* One strip, and what follows from it; false if the caller wants no more. */
static bool step(rungi_worker *worker, rungi_strip *strip, double waited, rung_status *status)
{
    rungi_job *job = worker->job;
    rungi_strip done = *strip;
    int64_t strips = rungi_strip_count(rungi_block_at(&job->whole, &job->blocking, done.block).rows);
    int64_t parts = strips * job->blocking.panels, left = parts - 1 - (done.panel * strips + done.index);
    double part = 1 / (double)parts, rest = (double)left * part;
    double began = rungi_now() - worker->planned - (done.panel > 0 || done.index > 0 ? waited : 0);
    *status = multiply(worker, strip);
    make_room(worker, strip);
    if (*status != RUNG_OK)
        return false;
    if (left == 0)
        rungi_exchange_out(worker, done.block);
    bool is_kept = rungi_share_step(&job->share, worker->who, part, rungi_now() - worker->planned - began, rest);
    if (!is_kept && left > 0)
        drop(worker, &done, rest);
    return rungi_job_step(job, part);
}

static rung_status compute_all(rungi_worker *worker)
{
    rung_status status = RUNG_OK;
    rungi_strip *strip;
    double waited;
    int turn = 0;
    while ((strip = wait_for_strip(worker, turn, &waited))) {
        turn = !turn;
        worker->waited += waited;
        if (strip->serial <= worker->dropped)
            make_room(worker, strip);
        else if (!step(worker, strip, waited, &status))
            break;
    }
    return status;
}

/* ---- A device's life ------------------------------------------------------------------------------------------ */

/* Packs panels of B where the device can and the packed panel needs no more than the second panel's room. */
static rung_status make_packed(rungi_worker *worker)
{
    enum { HEADER_MAX = 256 }; /* bytes of a packed B besides its panels */
    const rungi_job *job = worker->job;
    const rungi_task *whole = job->problem;
    int64_t room = rungi_depth_bytes(&job->whole, 0, job->blocking.block_cols) / 2 * job->blocking.panel_depth;
    int64_t rows = rungi_strip_size(job->blocking.block_rows, 0), depth = job->blocking.panel_depth,
            cols = job->blocking.block_cols;
    rung_type sums = rungi_task_sum_type(whole);
    rung_problem first = rung_problem_of(panel_view(&whole->a, rows, depth, NULL),
                                         panel_view(&whole->b, depth, cols, NULL),
                                         rung_matrix_in_buffer(sums, rows, cols, NULL, 0));
    rung_plan_options options = rung_plan_options_default();
    rung_plan *plan;
    options.packed_b = 1;
    first.compute = whole->compute;
    if (!worker->is_here || depth == 0 || rung_plan_create(worker->device, &first, &options, &plan) != RUNG_OK)
        return RUNG_OK;
    const rung_plan_info *info = rung_plan_describe(plan);
    bool fits = info->packed_b_bytes > 0 && info->packed_b_bytes <= room + HEADER_MAX &&
                snprintf(worker->parameters, sizeof worker->parameters, "%s", info->parameters) <
                    (int)sizeof worker->parameters;
    rung_status status = RUNG_OK;
    if (fits)
        status = rung_kernel_find(rung_device_context(worker->device), "cpu", info->kernel, &worker->kernel);
    if (fits && status == RUNG_OK)
        status = rung_buffer_create(worker->device, info->packed_b_bytes, &worker->packed);
    rung_plan_destroy(plan);
    return status;
}

static rung_status make_buffers(rungi_worker *worker)
{
    const rungi_whole *whole = &worker->job->whole;
    const rung_outofcore_blocking *blocking = &worker->job->blocking;
    int64_t strip = rungi_strip_size(blocking->block_rows, 0) * blocking->panel_depth * whole->in,
            across = blocking->panel_depth * blocking->block_cols * whole->in;
    rung_status status = rung_buffer_create(worker->device, blocking->block_rows * blocking->block_cols * whole->sum,
                                            &worker->block);
    if (status == RUNG_OK)
        status = make_packed(worker);
    for (int i = 0; status == RUNG_OK && i < 2; i++)
        status = rung_buffer_create(worker->device, strip, &worker->strips[i].a);
    for (int i = 0; status == RUNG_OK && i < rungi_places(worker); i++)
        status = rung_buffer_create(worker->device, across, &worker->across[i].memory);
    return status;
}

/* A slice holds a line at least, of a panel or of a block. */
static rung_status make_slices(rungi_worker *worker)
{
    const rungi_whole *whole = &worker->job->whole;
    const rung_outofcore_blocking *blocking = &worker->job->blocking;
    int64_t side = blocking->block_rows > blocking->block_cols ? blocking->block_rows : blocking->block_cols;
    int64_t line = (side > blocking->panel_depth ? side : blocking->panel_depth) * whole->sum;
    size_t bytes = line > RUNGI_SLICE ? (size_t)line : RUNGI_SLICE;
    worker->feed_slice = worker->is_here ? NULL : malloc(bytes);
    worker->exchange_slice = worker->is_here ? NULL : malloc(bytes);
    worker->exchange_converted = whole->sum == whole->out ? NULL : malloc(bytes);
    if ((!worker->is_here && (!worker->feed_slice || !worker->exchange_slice)) ||
        (whole->sum != whole->out && !worker->exchange_converted))
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for what is on its way to and from a device");
    return RUNG_OK;
}

static rung_status open_worker(rungi_worker *worker)
{
    rung_status status = rung_queue_create(worker->device, &worker->queue);
    if (status == RUNG_OK)
        status = rung_queue_create(worker->device, &worker->feed_queue);
    if (status == RUNG_OK)
        status = rung_queue_create(worker->device, &worker->exchange_queue);
    if (status == RUNG_OK)
        status = make_slices(worker);
    if (status == RUNG_OK)
        status = make_buffers(worker);
    return status;
}

static void close_worker(rungi_worker *worker)
{
    rung_queue_destroy(worker->queue);
    rung_queue_destroy(worker->feed_queue);
    rung_queue_destroy(worker->exchange_queue);
    for (int i = 0; i < worker->shape_count; i++)
        rung_plan_destroy(worker->shapes[i].plan);
    for (int i = 0; i < 2; i++) {
        rung_buffer_destroy(worker->strips[i].a);
        rung_buffer_destroy(worker->across[i].memory);
    }
    rung_buffer_destroy(worker->packed);
    rung_buffer_destroy(worker->block);
    free(worker->feed_slice);
    free(worker->exchange_slice);
    free(worker->exchange_converted);
}

static void set_flag(rungi_worker *worker, bool *flag)
{
    pthread_mutex_lock(&worker->mutex);
    *flag = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

/* Computes with the two others beside it. What is on its way out when there is no more to compute still goes there. */
static void compute_with_others(rungi_worker *worker)
{
    pthread_t feeder, exchanger;
    bool is_fed = pthread_create(&feeder, NULL, rungi_feed, worker) == 0;
    bool is_exchanged = is_fed && pthread_create(&exchanger, NULL, rungi_exchange, worker) == 0;
    rung_status status = is_exchanged ? compute_all(worker)
                                      : rung_error_set(RUNG_STATUS_NO_MEMORY, "no thread could be started");
    if (status != RUNG_OK)
        rungi_worker_fail(worker, status);
    set_flag(worker, &worker->is_over);
    if (is_fed)
        pthread_join(feeder, NULL);
    set_flag(worker, &worker->is_closing);
    if (is_exchanged)
        pthread_join(exchanger, NULL);
}

static void *work(void *user)
{
    rungi_worker *worker = user;
    rung_status status = open_worker(worker);
    if (status == RUNG_OK)
        compute_with_others(worker);
    else
        rungi_worker_fail(worker, status);
    give_back_all(worker);
    close_worker(worker);
    return NULL;
}

rung_status rungi_worker_start(rungi_worker *worker, rungi_job *job, int who, rung_device *device)
{
    *worker = (rungi_worker){
        .job = job, .who = who, .device = device, .out_block = -1, .in_block = -1, .out_end = INT64_MAX};
    worker->is_here = strcmp(rung_device_describe(device)->backend, "cpu") == 0;
    for (int i = 0; i < RUNGI_HELD; i++)
        worker->held[i] = -1;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->changed, NULL);
    worker->has_thread = pthread_create(&worker->thread, NULL, work, worker) == 0;
    if (worker->has_thread)
        return RUNG_OK;
    rung_status status = rung_error_set(RUNG_STATUS_NO_MEMORY, "no thread could be started");
    rungi_worker_fail(worker, status);
    return status;
}

void rungi_worker_join(rungi_worker *worker)
{
    if (worker->has_thread)
        pthread_join(worker->thread, NULL);
    pthread_mutex_destroy(&worker->mutex);
    pthread_cond_destroy(&worker->changed);
}
