/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - a block of C goes out while the next is begun behind it, in the same memory; and C0 comes in. */
#include "core/checked.h"
#include "outofcore/stored.h"
#include "outofcore/worker.h"

#include <math.h>
#include <string.h>

/* ---- Types ------------------------------------------------------------------------------------------- */

/* Sums are rounded to C's type on their way out. */
static void narrow(rung_type to_type, void *to, const void *from, int64_t count)
{
    const float *sums = from;
    for (int64_t i = 0; i < count; i++)
        if (to_type == RUNG_F32)
            ((float *)to)[i] = (float)((const double *)from)[i];
        else
            ((uint16_t *)to)[i] = to_type == RUNG_F16 ? rung_f16_from_f32(sums[i]) : rung_bf16_from_f32(sums[i]);
}

static void widen(rung_type from_type, void *to, const void *from, int64_t count)
{
    const uint16_t *bits = from;
    for (int64_t i = 0; i < count; i++)
        if (from_type == RUNG_F32)
            ((double *)to)[i] = ((const float *)from)[i];
        else
            ((float *)to)[i] = from_type == RUNG_F16 ? rung_f16_to_f32(bits[i]) : rung_bf16_to_f32(bits[i]);
}

/* ---- Moving a piece ------------------------------------------------------------------------------------ */

/* Some rows of a block: where they stand in C, and in the block's memory. */
typedef struct piece {
    rung_matrix view;     /* of C or C0 */
    int64_t first, count; /* elements */
} piece_t;

static bool is_converted(const rungi_worker *worker)
{
    return worker->job->whole.sum != worker->job->whole.out;
}

/* Where the piece's sums are in this process's memory. */
static rung_status receive(rungi_worker *worker, const piece_t *piece, char **sums)
{
    int64_t size = worker->job->whole.sum;
    if (worker->is_here) {
        *sums = (char *)rung_buffer_native(worker->block) + piece->first * size;
        return RUNG_OK;
    }
    *sums = worker->exchange_slice;
    rung_status status = rung_buffer_read(worker->exchange_queue, worker->block, piece->first * size,
                                          piece->count * size, *sums, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(worker->exchange_queue);
    if (status == RUNG_OK)
        rungi_job_count(worker->job, RUNGI_DOWN, piece->count * size);
    return status;
}

static rung_status bring_out(rungi_worker *worker, const piece_t *piece)
{
    const rungi_job *job = worker->job;
    char *sums;
    rung_status status = receive(worker, piece, &sums);
    if (status == RUNG_OK && is_converted(worker)) {
        narrow(job->c->view.type, worker->exchange_converted, sums, piece->count);
        sums = worker->exchange_converted;
    }
    if (status == RUNG_OK)
        status = rungi_stored_put(job->c, piece->view, sums);
    if (status == RUNG_OK)
        rungi_job_count(worker->job, RUNGI_WRITTEN, piece->count * job->whole.out);
    return status;
}

static rung_status bring_in(rungi_worker *worker, const piece_t *piece)
{
    const rungi_job *job = worker->job;
    int64_t size = job->whole.sum;
    char *to = worker->is_here ? (char *)rung_buffer_native(worker->block) + piece->first * size
                               : worker->exchange_slice;
    char *from = is_converted(worker) ? worker->exchange_converted : to;
    rung_status status = rungi_stored_get(&job->problem->c0, piece->view, false, from);
    if (status == RUNG_OK && is_converted(worker))
        widen(job->c->view.type, to, from, piece->count);
    if (status == RUNG_OK && !worker->is_here) {
        status = rung_buffer_write(worker->exchange_queue, worker->block, piece->first * size, piece->count * size, to,
                                   NULL);
        if (status == RUNG_OK)
            status = rung_queue_finish(worker->exchange_queue);
        if (status == RUNG_OK)
            rungi_job_count(worker->job, RUNGI_UP, piece->count * size);
    }
    if (status == RUNG_OK)
        rungi_job_count(worker->job, RUNGI_READ, piece->count * job->whole.out);
    return status;
}

/* ---- Moving a block -------------------------------------------------------------------------------------- */

static void set_end(rungi_worker *worker, int64_t *end, int64_t value)
{
    pthread_mutex_lock(&worker->mutex);
    *end = value;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

/* Piece by piece, telling how far it is: strips, or less where a piece must fit a slice. */
static rung_status move(rungi_worker *worker, int64_t index, const rung_matrix *whole, int64_t *end,
                        rung_status (*each)(rungi_worker *worker, const piece_t *piece))
{
    const rungi_job *job = worker->job;
    rungi_block block = rungi_block_at(&job->whole, &job->blocking, index);
    int64_t rows = rungi_strip_rows(block.rows), fits = RUNGI_SLICE / (block.cols * job->whole.sum);
    rung_status status = RUNG_OK;
    if (!worker->is_here || is_converted(worker))
        rows = rungi_smaller(rows, fits < 1 ? 1 : fits);
    for (int64_t row = 0; status == RUNG_OK && row < block.rows; row += rows) {
        int64_t count = rungi_smaller(rows, block.rows - row);
        piece_t piece = {rung_matrix_block(*whole, block.row + row, block.col, count, block.cols), row * block.cols,
                         count * block.cols};
        status = each(worker, &piece);
        if (status == RUNG_OK)
            set_end(worker, end, piece.first + piece.count);
    }
    return status;
}

static rung_status finish_block(rungi_worker *worker, int64_t block)
{
    rungi_job *job = worker->job;
    rung_status status = move(worker, block, &job->c->view, &worker->out_end, bring_out);
    if (status == RUNG_OK && job->output)
        status = rungi_output_block(job->output, block);
    /* Where C may be C0, no other device can do a block again of which a part is written. */
    if (status != RUNG_OK && job->problem->beta != 0 && !job->output)
        rungi_job_fail(job, status);
    if (status != RUNG_OK)
        return status;
    rungi_worker_release(worker, block);
    rungi_share_done(&job->share, worker->who, block);
    pthread_mutex_lock(&worker->mutex);
    worker->out_block = -1;
    worker->out_end = INT64_MAX;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    return RUNG_OK;
}

static rung_status start_block(rungi_worker *worker, int64_t block)
{
    rung_status status = move(worker, block, &worker->job->problem->c0.view, &worker->in_end, bring_in);
    pthread_mutex_lock(&worker->mutex);
    worker->in_block = -1;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    return status;
}

void *rungi_exchange(void *user)
{
    rungi_worker *worker = user;
    rung_status status = RUNG_OK;
    while (status == RUNG_OK) {
        pthread_mutex_lock(&worker->mutex);
        while (worker->out_block < 0 && worker->in_block < 0 && !worker->is_closing && worker->status == RUNG_OK)
            pthread_cond_wait(&worker->changed, &worker->mutex);
        int64_t out = worker->out_block, in = worker->in_block;
        bool ends = worker->status != RUNG_OK || (worker->is_closing && out < 0);
        pthread_mutex_unlock(&worker->mutex);
        if (ends)
            break;
        status = out >= 0 ? finish_block(worker, out) : start_block(worker, in);
    }
    if (status != RUNG_OK)
        rungi_worker_fail(worker, status);
    return NULL;
}

/* ---- For the thread that computes ------------------------------------------------------------------------- */

void rungi_exchange_out(rungi_worker *worker, int64_t block)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->out_block >= 0 && worker->status == RUNG_OK) /* out of the memory, and not yet told of */
        pthread_cond_wait(&worker->changed, &worker->mutex);
    worker->out_block = block;
    worker->out_end = 0;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

void rungi_exchange_in(rungi_worker *worker, int64_t block)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->in_block >= 0 && worker->status == RUNG_OK) /* of a block that was given back */
        pthread_cond_wait(&worker->changed, &worker->mutex);
    worker->in_block = block;
    worker->in_end = 0;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

bool rungi_exchange_wait(rungi_worker *worker, int64_t end)
{
    bool reads = worker->job->problem->beta != 0;
    pthread_mutex_lock(&worker->mutex);
    while ((worker->out_end < end || (reads && worker->in_end < end)) && worker->status == RUNG_OK)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    bool goes_on = worker->status == RUNG_OK;
    pthread_mutex_unlock(&worker->mutex);
    return goes_on;
}
