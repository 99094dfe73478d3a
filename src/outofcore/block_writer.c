/* SPDX-License-Identifier: Apache-2.0 */
/* block_writer.c - the writer thread of a worker. It writes a completed block of C while the next block is computed in the
 * rows that are already written, and loads C0 into the block. See worker.h. */
#include "base/try.h"
#include "outofcore/worker.h"

/* ---- Conversion ---------------------------------------------------------------------------------------- */

/* Rounds sums to C's type. */
static void round_sums(rung_type to_type, void *to, const void *from, int64_t count)
{
    const float *sums = from;
    for (int64_t i = 0; i < count; i++)
        if (to_type == RUNG_F32)
            ((float *)to)[i] = (float)((const double *)from)[i];
        else
            ((uint16_t *)to)[i] = to_type == RUNG_F16 ? rung_f16_from_f32(sums[i]) : rung_bf16_from_f32(sums[i]);
}

/* Converts elements of C0 to the accumulator type. */
static void convert_c0(rung_type from_type, void *to, const void *from, int64_t count)
{
    const uint16_t *bits = from;
    for (int64_t i = 0; i < count; i++)
        if (from_type == RUNG_F32)
            ((double *)to)[i] = ((const float *)from)[i];
        else
            ((float *)to)[i] = from_type == RUNG_F16 ? rung_f16_to_f32(bits[i]) : rung_bf16_to_f32(bits[i]);
}

/* ---- Rows ------------------------------------------------------------------------------------------------ */

/* Some rows of a block. */
typedef struct block_rows {
    rung_matrix view;     /* in C or C0 */
    int64_t first, count; /* elements in the block buffer */
} block_rows_t;

static bool is_converted(const rungi_worker *worker)
{
    return worker->job->sizes.sum_bytes != worker->job->sizes.output_bytes;
}

/* Returns where this process accesses the sums of `rows`: the block buffer itself, or the staging buffer. */
static char *host_sums(const rungi_worker *worker, const block_rows_t *rows)
{
    return worker->is_host_memory
               ? (char *)rung_buffer_native(worker->block) + rows->first * worker->job->sizes.sum_bytes
               : worker->writer_staging;
}

static rung_status write_block_rows(rungi_worker *worker, const block_rows_t *rows)
{
    rungi_job *job = worker->job;
    int64_t sum_bytes = job->sizes.sum_bytes;
    char *sums = host_sums(worker, rows);
    if (!worker->is_host_memory) {
        TRY(rung_buffer_read(worker->writer_queue, worker->block, rows->first * sum_bytes, rows->count * sum_bytes,
                             sums, NULL));
        TRY(rung_queue_finish(worker->writer_queue));
        rungi_job_count(job, &job->counts.download_bytes, rows->count * sum_bytes);
    }
    if (is_converted(worker)) {
        round_sums(job->c->view.type, worker->writer_converted, sums, rows->count);
        sums = worker->writer_converted;
    }
    TRY(rungi_outofcore_matrix_store(job->c, rows->view, sums));
    rungi_job_count(job, &job->counts.written_bytes, rows->count * job->sizes.output_bytes);
    return RUNG_OK;
}

static rung_status load_c0_rows(rungi_worker *worker, const block_rows_t *rows)
{
    rungi_job *job = worker->job;
    int64_t sum_bytes = job->sizes.sum_bytes;
    char *sums = host_sums(worker, rows);
    char *elements = is_converted(worker) ? worker->writer_converted : sums;
    TRY(rungi_outofcore_matrix_load(&job->problem->c0, rows->view, false, elements));
    if (is_converted(worker))
        convert_c0(job->c->view.type, sums, elements, rows->count);
    if (!worker->is_host_memory)
        TRY(rungi_worker_upload(worker, worker->writer_queue, worker->block, rows->first * sum_bytes,
                                rows->count * sum_bytes, sums));
    rungi_job_count(job, &job->counts.read_bytes, rows->count * job->sizes.output_bytes);
    return RUNG_OK;
}

/* ---- Blocks ---------------------------------------------------------------------------------------------- */

/* Calls `transfer_rows` for each slice of a block, or for fewer rows at a time if a slice does not fit in the staging
 * buffer. *end follows the elements that are complete. */
static rung_status transfer_block(rungi_worker *worker, int64_t index, const rung_matrix *matrix, int64_t *end,
                                  rung_status (*transfer_rows)(rungi_worker *worker, const block_rows_t *rows))
{
    const rungi_job *job = worker->job;
    rungi_outofcore_block block = rungi_outofcore_block_at(&job->sizes, &job->blocking, index);
    int64_t step = rungi_outofcore_slice_rows(block.rows);
    if (!worker->is_host_memory || is_converted(worker))
        step = rungi_min(step, rungi_max(1, RUNGI_OUTOFCORE_STAGING_BYTES / (block.cols * job->sizes.sum_bytes)));
    for (int64_t row = 0; row < block.rows; row += step) {
        int64_t count = rungi_min(step, block.rows - row);
        block_rows_t rows = {rung_matrix_block(*matrix, block.row + row, block.col, count, block.cols),
                             row * block.cols, count * block.cols};
        TRY(transfer_rows(worker, &rows));
        rungi_worker_set_number(worker, end, rows.first + rows.count);
    }
    return RUNG_OK;
}

static rung_status write_block(rungi_worker *worker, int64_t block)
{
    rungi_job *job = worker->job;
    rung_status status = transfer_block(worker, block, &job->c->view, &worker->written_end, write_block_rows);
    if (status == RUNG_OK && job->output)
        status = rungi_output_queue_block(job->output, block);
    /* If C may be C0, no other device can compute a block again after a part of it was overwritten. */
    if (status != RUNG_OK && job->problem->beta != 0 && !job->output)
        rungi_job_fail(job, status);
    TRY(status);
    rungi_worker_release_block(worker, block);
    rungi_block_queue_complete(&job->block_queue, worker->index, block);
    pthread_mutex_lock(&worker->mutex);
    worker->output_block = -1;
    worker->written_end = INT64_MAX;
    rungi_worker_unlock_and_notify(worker);
    return RUNG_OK;
}

static rung_status load_c0_block(rungi_worker *worker, int64_t block)
{
    rung_status status = transfer_block(worker, block, &worker->job->problem->c0.view, &worker->loaded_end,
                                        load_c0_rows);
    rungi_worker_set_number(worker, &worker->input_block, -1);
    return status;
}

void *rungi_block_writer_run(void *user)
{
    rungi_worker *worker = user;
    rung_status status = RUNG_OK;
    while (status == RUNG_OK) {
        pthread_mutex_lock(&worker->mutex);
        while (worker->output_block < 0 && worker->input_block < 0 && !worker->is_closing &&
               worker->failure.status == RUNG_OK)
            pthread_cond_wait(&worker->changed, &worker->mutex);
        int64_t output = worker->output_block, input = worker->input_block;
        bool is_done = worker->failure.status != RUNG_OK || (worker->is_closing && output < 0);
        pthread_mutex_unlock(&worker->mutex);
        if (is_done)
            return NULL;
        status = output >= 0 ? write_block(worker, output) : load_c0_block(worker, input);
    }
    rungi_worker_fail(worker, status);
    return NULL;
}

/* ---- For the computing thread ----------------------------------------------------------------------------- */

void rungi_block_writer_post(rungi_worker *worker, int64_t *request, int64_t *end, int64_t block)
{
    pthread_mutex_lock(&worker->mutex);
    while (*request >= 0 && worker->failure.status == RUNG_OK)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    *request = block;
    *end = 0;
    rungi_worker_unlock_and_notify(worker);
}

bool rungi_block_writer_wait(rungi_worker *worker, int64_t end)
{
    bool reads_c0 = worker->job->problem->beta != 0;
    pthread_mutex_lock(&worker->mutex);
    while ((worker->written_end < end || (reads_c0 && worker->loaded_end < end)) && worker->failure.status == RUNG_OK)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    bool can_continue = worker->failure.status == RUNG_OK;
    pthread_mutex_unlock(&worker->mutex);
    return can_continue;
}
