/* SPDX-License-Identifier: Apache-2.0 */
/* worker_run.c - memory, queues, plans and threads of a device, and the thread that multiplies. See worker.h. */
#include "outofcore/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/try.h"

rung_status rungi_worker_upload(rungi_worker *worker, rung_queue *queue, rung_buffer *buffer, int64_t offset,
                                int64_t bytes, const void *from)
{
    TRY(rung_buffer_write(queue, buffer, offset, bytes, from, NULL));
    TRY(rung_queue_finish(queue));
    rungi_job_count(worker->job, &worker->job->counts.upload_bytes, bytes);
    return RUNG_OK;
}

/* ---- Failures and held blocks ------------------------------------------------------------------------------- */

void rungi_worker_fail(rungi_worker *worker, rung_status status)
{
    rungi_job *job = worker->job;
    pthread_mutex_lock(&worker->mutex);
    rungi_outofcore_failure_record(&worker->failure, status);
    worker->is_stopped = true;
    rungi_worker_unlock_and_notify(worker);
    pthread_mutex_lock(&job->mutex);
    if (job->first_failed < 0)
        job->first_failed = worker->index;
    pthread_mutex_unlock(&job->mutex);
    if (status == RUNG_STATUS_IO || status == RUNG_STATUS_CANCELLED) /* every other device would fail too */
        rungi_job_fail(job, status);
    rungi_block_queue_remove_device(&job->block_queue, worker->index);
}

/* Replaces the entry `from` of the held blocks by `to`; -1 is a free entry. Returns false if there is no such entry. */
static bool replace_held_block(rungi_worker *worker, int64_t from, int64_t to)
{
    int i = 0;
    pthread_mutex_lock(&worker->mutex);
    while (i < RUNGI_OUTOFCORE_MAX_HELD_BLOCKS && worker->held_blocks[i] != from)
        i++;
    if (i < RUNGI_OUTOFCORE_MAX_HELD_BLOCKS)
        worker->held_blocks[i] = to;
    pthread_mutex_unlock(&worker->mutex);
    return i < RUNGI_OUTOFCORE_MAX_HELD_BLOCKS;
}

/* A worker holds at most five blocks: one that is being written, one that waits to be written and, if a block has a single
 * slice, two in the slice buffers and one that was just taken. */
rung_status rungi_worker_hold_block(rungi_worker *worker, int64_t block)
{
    if (replace_held_block(worker, -1, block))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_DEVICE_LOST, "internal error: a device holds more than %d blocks; please report this",
                      RUNGI_OUTOFCORE_MAX_HELD_BLOCKS);
}

void rungi_worker_release_block(rungi_worker *worker, int64_t block)
{
    replace_held_block(worker, block, -1);
}

static void return_held_blocks(rungi_worker *worker)
{
    for (int i = 0; i < RUNGI_OUTOFCORE_MAX_HELD_BLOCKS; i++)
        if (worker->held_blocks[i] >= 0)
            rungi_block_queue_return(&worker->job->block_queue, worker->index, worker->held_blocks[i], 1);
}

/* ---- Plans --------------------------------------------------------------------------------------------------- */

/* Returns the view of a panel in its buffer. */
static rung_matrix panel_view(const rung_outofcore_matrix *matrix, int64_t rows, int64_t cols, rung_buffer *buffer)
{
    rung_type type = matrix->view.type;
    if (rungi_outofcore_matrix_is_column_major(matrix))
        return rung_matrix_transpose(rung_matrix_in_buffer(type, cols, rows, buffer, 0));
    return rung_matrix_in_buffer(type, rows, cols, buffer, 0);
}

/* Returns the problem that adds slice * panel to the rows of the slice in the block. */
static rung_problem slice_problem(const rungi_worker *worker, const rungi_outofcore_slice *slice)
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

/* Finds or creates the plan for the shape of `part`. The worker owns the plan and may evict it at the next call. */
static rung_status find_plan(rungi_worker *worker, const rung_problem *part, rung_plan **plan)
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

/* Creates packed_b if the device can pack panels of B and the packed panel fits in the second panel's memory. */
static rung_status create_packed_b(rungi_worker *worker)
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
    if (problem->is_checked || !worker->is_host_memory || depth == 0 ||
        rung_plan_create(worker->device, &part, &options, &plan) != RUNG_OK)
        return RUNG_OK;
    rung_status status = create_packed_b_for(worker, rung_plan_describe(plan), available_bytes + MAX_HEADER_BYTES);
    rung_plan_destroy(plan);
    return status;
}

/* ---- Multiplying --------------------------------------------------------------------------------------------- */

/* Packs a panel of B for all slices. Afterwards the reader may load the next panel into the same buffer. */
static rung_status pack_b_panel(rungi_worker *worker, rung_plan *plan, const rung_problem *part,
                                rungi_outofcore_b_panel *b_panel)
{
    TRY(rung_plan_pack_b(plan, worker->queue, &part->b, worker->packed_b, NULL));
    TRY(rung_queue_finish(worker->queue));
    rungi_worker_set_flag(worker, &b_panel->is_packed);
    return RUNG_OK;
}

/* Waits until the rows of the first panel's slice are free: the writer may still copy the previous block. */
static bool wait_for_block(rungi_worker *worker, const rungi_outofcore_slice *slice, const rung_problem *part)
{
    int64_t start_ns = rungi_clock_ns();
    if (slice->panel > 0)
        return true;
    if (slice->index == 0 && worker->job->problem->beta != 0)
        rungi_block_writer_post(worker, &worker->input_block, &worker->loaded_end, slice->block);
    bool is_free = rungi_block_writer_wait(worker, part->c.offset + part->c.rows * part->c.cols);
    worker->wait_ns += rungi_clock_ns() - start_ns;
    return is_free;
}

/* Multiplies matrices in host memory on the device, and corrects the product. */
static rung_status multiply_checked(rungi_worker *worker, const rung_problem *part)
{
    rungi_job *job = worker->job;
    rung_problem problem = *part;
    rung_matrix *const views[] = {&problem.a, &problem.b, &problem.c};
    rung_multiply_options options = rung_multiply_options_default();
    int64_t corrected = 0;
    for (int i = 0; i < 3; i++) {
        views[i]->data = rung_buffer_native(views[i]->buffer);
        views[i]->buffer = NULL;
    }
    options.device = worker->device;
    options.checked = 1;
    options.corrected = &corrected;
    rung_status status = rung_multiply(rung_device_context(worker->device), &problem, &options);
    rungi_job_count(job, &job->counts.corrected, corrected);
    return status;
}

static rung_status multiply_slice(rungi_worker *worker, const rungi_outofcore_slice *slice)
{
    rung_problem part = slice_problem(worker, slice);
    if (worker->job->problem->is_checked)
        return wait_for_block(worker, slice, &part) ? multiply_checked(worker, &part) : RUNG_OK;
    rung_run_options options = rung_run_options_default();
    rung_plan *plan;
    options.packed_b = worker->packed_b;
    TRY(find_plan(worker, &part, &plan));
    if (worker->packed_b && slice->index == 0)
        TRY(pack_b_panel(worker, plan, &part, &worker->b_panels[slice->b_panel]));
    if (!wait_for_block(worker, slice, &part))
        return RUNG_OK; /* the thread that failed has recorded the failure */
    rung_status status = rung_plan_run(plan, worker->queue, &part, &options);
    rung_status finished = rung_queue_finish(worker->queue);
    return status == RUNG_OK ? finished : status;
}

/* Waits for a slice buffer to be read. Returns NULL if no slice follows. */
static rungi_outofcore_slice *wait_for_slice(rungi_worker *worker, int buffer, int64_t *wait_ns)
{
    rungi_outofcore_slice *slice = &worker->slices[buffer];
    int64_t start_ns = rungi_clock_ns();
    pthread_mutex_lock(&worker->mutex);
    while (!slice->is_ready && !worker->is_read && !worker->is_stopped)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    bool is_ready = slice->is_ready && !worker->is_stopped;
    pthread_mutex_unlock(&worker->mutex);
    *wait_ns = rungi_clock_ns() - start_ns;
    return is_ready ? slice : NULL;
}

/* Marks a slice buffer as free. */
static void release_slice(rungi_worker *worker, rungi_outofcore_slice *slice)
{
    pthread_mutex_lock(&worker->mutex);
    slice->is_ready = false;
    worker->b_panels[slice->b_panel].pending_slices--;
    rungi_worker_unlock_and_notify(worker);
}

/* Returns a block of which the fraction `remaining` is not computed: other devices complete the block sooner. */
static void drop_block(rungi_worker *worker, const rungi_outofcore_slice *slice, double remaining)
{
    rungi_worker_set_number(worker, &worker->dropped_serial, slice->serial);
    rungi_worker_release_block(worker, slice->block);
    rungi_block_queue_return(&worker->job->block_queue, worker->index, slice->block, remaining);
}

/* Multiplies a slice, frees its buffer and reports progress. Returns false after a failure or if the call must end. */
static bool process_slice(rungi_worker *worker, rungi_outofcore_slice *slice, int64_t wait_ns, rung_status *status)
{
    rungi_job *job = worker->job;
    rungi_outofcore_slice done = *slice;
    int64_t slices = rungi_outofcore_slice_count(
        rungi_outofcore_block_at(&job->sizes, &job->blocking, done.block).rows);
    int64_t parts = slices * job->blocking.panels, parts_left = parts - 1 - (done.panel * slices + done.index);
    double part = 1 / (double)parts, remaining = (double)parts_left * part;
    bool is_first = done.panel == 0 && done.index == 0;
    int64_t start_ns = rungi_clock_ns() - worker->plan_ns - (is_first ? 0 : wait_ns);
    *status = multiply_slice(worker, slice);
    release_slice(worker, slice);
    if (*status != RUNG_OK)
        return false;
    if (parts_left == 0)
        rungi_block_writer_post(worker, &worker->output_block, &worker->written_end, done.block);
    int64_t slice_ns = rungi_clock_ns() - worker->plan_ns - start_ns;
    bool is_continued = rungi_block_queue_add_progress(&job->block_queue, worker->index, part, (double)slice_ns,
                                                       remaining);
    if (!is_continued && parts_left > 0)
        drop_block(worker, &done, remaining);
    return rungi_job_add_progress(job, part);
}

static rung_status compute_slices(rungi_worker *worker)
{
    rung_status status = RUNG_OK;
    rungi_outofcore_slice *slice;
    int64_t wait_ns;
    int buffer = 0;
    while ((slice = wait_for_slice(worker, buffer, &wait_ns))) {
        buffer = !buffer;
        worker->wait_ns += wait_ns;
        if (slice->serial <= worker->dropped_serial)
            release_slice(worker, slice);
        else if (!process_slice(worker, slice, wait_ns, &status))
            break;
    }
    return status;
}

/* ---- Memory and threads of a device --------------------------------------------------------------------------- */

static rung_status create_buffers(rungi_worker *worker)
{
    const rungi_outofcore_sizes *sizes = &worker->job->sizes;
    const rung_outofcore_blocking *blocking = &worker->job->blocking;
    int64_t slice_rows = rungi_outofcore_slice_size(blocking->block_rows, 0);
    int64_t bytes_per_line = blocking->panel_depth * sizes->input_bytes;
    TRY(rung_buffer_create(worker->memory_device, blocking->block_rows * blocking->block_cols * sizes->sum_bytes,
                           &worker->block));
    TRY(create_packed_b(worker));
    for (int i = 0; i < 2; i++)
        TRY(rung_buffer_create(worker->memory_device, slice_rows * bytes_per_line, &worker->slices[i].a));
    for (int i = 0; i < rungi_outofcore_b_panel_buffers(worker); i++)
        TRY(rung_buffer_create(worker->memory_device, blocking->block_cols * bytes_per_line,
                               &worker->b_panels[i].memory));
    return RUNG_OK;
}

/* Allocates the staging buffers. A staging buffer holds at least one line of a panel or of a block. */
static rung_status create_staging(rungi_worker *worker)
{
    const rungi_outofcore_sizes *sizes = &worker->job->sizes;
    const rung_outofcore_blocking *blocking = &worker->job->blocking;
    int64_t line = rungi_max(rungi_max(blocking->block_rows, blocking->block_cols), blocking->panel_depth);
    size_t bytes = (size_t)rungi_max(line * sizes->sum_bytes, RUNGI_OUTOFCORE_STAGING_BYTES);
    bool is_converted = sizes->sum_bytes != sizes->output_bytes;
    worker->reader_staging = worker->is_host_memory ? NULL : malloc(bytes);
    worker->writer_staging = worker->is_host_memory ? NULL : malloc(bytes);
    worker->writer_converted = is_converted ? malloc(bytes) : NULL;
    if ((!worker->is_host_memory && (!worker->reader_staging || !worker->writer_staging)) ||
        (is_converted && !worker->writer_converted))
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for staging buffers of %zu bytes", bytes);
    return RUNG_OK;
}

static rung_status open_worker(rungi_worker *worker)
{
    bool is_cpu = strcmp(rung_device_describe(worker->device)->backend, "cpu") == 0;
    worker->is_host_memory = is_cpu || worker->job->problem->is_checked;
    if (worker->is_host_memory && !is_cpu)
        TRY(rung_device_open(rung_device_context(worker->device), "cpu", &worker->memory_device));
    else
        worker->memory_device = worker->device;
    TRY(rung_queue_create(worker->memory_device, &worker->queue));
    TRY(rung_queue_create(worker->memory_device, &worker->reader_queue));
    TRY(rung_queue_create(worker->memory_device, &worker->writer_queue));
    TRY(create_staging(worker));
    return create_buffers(worker);
}

static void close_worker(rungi_worker *worker)
{
    rung_queue_destroy(worker->queue);
    rung_queue_destroy(worker->reader_queue);
    rung_queue_destroy(worker->writer_queue);
    for (int i = 0; i < worker->cached_plan_count; i++)
        rung_plan_destroy(worker->cached_plans[i].plan);
    for (int i = 0; i < 2; i++) {
        rung_buffer_destroy(worker->slices[i].a);
        rung_buffer_destroy(worker->b_panels[i].memory);
    }
    rung_buffer_destroy(worker->packed_b);
    rung_buffer_destroy(worker->block);
    free(worker->reader_staging);
    free(worker->writer_staging);
    free(worker->writer_converted);
    if (worker->memory_device != worker->device)
        rung_device_close(worker->memory_device);
}

/* Computes while the reader and the writer run. The writer still writes a block that was completed last. */
static void run_worker_threads(rungi_worker *worker)
{
    pthread_t reader, writer;
    bool has_reader = pthread_create(&reader, NULL, rungi_panel_reader_run, worker) == 0;
    bool has_writer = has_reader && pthread_create(&writer, NULL, rungi_block_writer_run, worker) == 0;
    rung_status status = has_writer ? compute_slices(worker)
                                    : rungi_fail(RUNG_STATUS_NO_MEMORY, "no thread could be started");
    if (status != RUNG_OK)
        rungi_worker_fail(worker, status);
    rungi_worker_set_flag(worker, &worker->is_stopped);
    if (has_reader)
        pthread_join(reader, NULL);
    rungi_worker_set_flag(worker, &worker->is_closing);
    if (has_writer)
        pthread_join(writer, NULL);
}

static void *run_worker(void *user)
{
    rungi_worker *worker = user;
    rung_status status = open_worker(worker);
    if (status == RUNG_OK)
        run_worker_threads(worker);
    else
        rungi_worker_fail(worker, status);
    return_held_blocks(worker);
    close_worker(worker);
    return NULL;
}

rung_status rungi_worker_start(rungi_worker *worker, rungi_job *job, int index, rung_device *device)
{
    *worker = (rungi_worker){
        .job = job, .index = index, .device = device, .output_block = -1, .input_block = -1, .written_end = INT64_MAX};
    for (int i = 0; i < RUNGI_OUTOFCORE_MAX_HELD_BLOCKS; i++)
        worker->held_blocks[i] = -1;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->changed, NULL);
    worker->has_thread = pthread_create(&worker->thread, NULL, run_worker, worker) == 0;
    if (worker->has_thread)
        return RUNG_OK;
    rung_status status = rungi_fail(RUNG_STATUS_NO_MEMORY, "no thread could be started");
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
