/* SPDX-License-Identifier: Apache-2.0 */
/* multiply.c - rung_outofcore_multiply: the problem is checked and cut, devices work on it, and what they did is told. */
#include "core/cancel.h"
#include "core/checked.h"
#include "outofcore/free.h"
#include "outofcore/stored.h"
#include "outofcore/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What can be wrong ------------------------------------------------------------------------------------- */

rung_outofcore_problem rung_outofcore_problem_of(rung_outofcore_matrix a, rung_outofcore_matrix b)
{
    rung_type type = a.view.type == RUNG_I8 ? RUNG_I32 : a.view.type;
    rung_outofcore_matrix none = rung_outofcore_matrix_of(rung_matrix_of(type, 0, 0, NULL));
    return (rung_outofcore_problem){.alpha = 1, .a = a, .b = b, .c0 = none, .c = none};
}

static rung_status check_shapes(const rung_outofcore_problem *problem)
{
    const rung_matrix *a = &problem->a.view, *b = &problem->b.view, *c = &problem->c.view, *c0 = &problem->c0.view;
    if (a->type != b->type || rung_product_of(a->type, c->type) == RUNG_PRODUCT_COUNT)
        return rung_error_set(RUNG_STATUS_UNSUPPORTED, "%s times %s into %s is not multiplied; see RUNG_PRODUCT_LIST",
                         rung_type_name(a->type), rung_type_name(b->type), rung_type_name(c->type));
    if (a->cols != b->rows)
        return rung_error_set(RUNG_STATUS_INVALID, "A is %lld x %lld and B is %lld x %lld; A has as many columns as B has rows",
                         (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
    if (!problem->path && (c->rows != a->rows || c->cols != b->cols))
        return rung_error_set(RUNG_STATUS_INVALID, "C is %lld x %lld and should be %lld x %lld", (long long)c->rows,
                         (long long)c->cols, (long long)a->rows, (long long)b->cols);
    if (problem->beta != 0 && (c0->rows != a->rows || c0->cols != b->cols || c0->type != c->type))
        return rung_error_set(RUNG_STATUS_INVALID, "C0 is %lld x %lld of %s and should be %lld x %lld of %s", (long long)c0->rows,
                         (long long)c0->cols, rung_type_name(c0->type), (long long)a->rows, (long long)b->cols,
                         rung_type_name(c->type));
    return RUNG_OK;
}

static bool is_same(const rung_matrix *x, const rung_matrix *y)
{
    return x->data && x->data == y->data && x->offset == y->offset && x->row_stride == y->row_stride &&
           x->col_stride == y->col_stride;
}

static rung_status check_overlap(const rung_outofcore_problem *problem)
{
    const rung_matrix *c = &problem->c.view, *c0 = &problem->c0.view;
    if (problem->path)
        return RUNG_OK;
    rung_status status = rungi_stored_check(&problem->c, "C", true);
    if (status != RUNG_OK)
        return status;
    if (rungi_stored_meet(&problem->c, &problem->a) || rungi_stored_meet(&problem->c, &problem->b))
        return rung_error_set(RUNG_STATUS_ALIASED, "C meets A or B in memory or in a file, and they are read while it is written");
    if (problem->beta != 0 && rungi_stored_meet(&problem->c, &problem->c0) && !is_same(c, c0))
        return rung_error_set(RUNG_STATUS_ALIASED, "C0 is C itself, and that in memory, or it does not meet C");
    return RUNG_OK;
}

static rung_status check_problem(const rung_outofcore_problem *problem)
{
    if (!problem)
        return rung_error_set(RUNG_STATUS_INVALID, "there is no problem");
    rung_status status = rungi_stored_check(&problem->a, "A", false);
    if (status == RUNG_OK)
        status = rungi_stored_check(&problem->b, "B", false);
    if (status == RUNG_OK && problem->beta != 0)
        status = rungi_stored_check(&problem->c0, "C0", false);
    if (status == RUNG_OK)
        status = check_shapes(problem);
    if (status == RUNG_OK)
        status = check_overlap(problem);
    return status;
}

/* ---- The cut ------------------------------------------------------------------------------------------------ */

static int64_t memory_of(const rung_outofcore_device *device)
{
    const rung_device_info *info = rung_device_describe(device->device);
    if (device->memory != 0)
        return device->memory;
    return strcmp(info->backend, "cpu") == 0 || info->memory_bytes == 0 ? rungi_free_memory("") / 2
                                                                      : info->memory_bytes / 2;
}

/* Room for all: the least of each. Several devices want several blocks each, or the last would be waited for. */
static rung_status room_of(const rung_outofcore_device *devices, int64_t count, rungi_room *room)
{
    enum { BLOCKS_EACH = 4 };
    *room = (rungi_room){.memory = INT64_MAX, .given = INT64_MAX, .blocks = count > 1 ? BLOCKS_EACH * count : 1};
    for (int64_t i = 0; i < count; i++) {
        int64_t memory = memory_of(&devices[i]), buffer = rung_device_describe(devices[i].device)->max_buffer_bytes;
        if (memory < 0)
            return rung_error_set(RUNG_STATUS_INVALID, "a device's memory is %lld bytes; it is not negative", (long long)memory);
        room->memory = rungi_smaller(room->memory, memory);
        room->given = devices[i].memory != 0 && memory < room->given ? memory : room->given;
        if (buffer > 0 && (room->buffer == 0 || buffer < room->buffer))
            room->buffer = buffer;
    }
    return RUNG_OK;
}

rung_status rung_outofcore_blocking_choose(const rung_outofcore_problem *problem, int64_t memory, rung_outofcore_blocking *cut)
{
    RUNGI_DISABLE_CANCELLATION;
    *cut = (rung_outofcore_blocking){.rows = 0};
    rung_status status = check_problem(problem);
    if (status != RUNG_OK)
        return status;
    rungi_whole whole = rungi_whole_of(problem);
    rungi_room room = {.memory = memory ? memory : rungi_free_memory("") / 2, .blocks = 1};
    return rungi_cut_make(&whole, &room, cut);
}

/* ---- What workers have in common ------------------------------------------------------------------------------ */

void rungi_job_fail(rungi_job *job, rung_status status)
{
    pthread_mutex_lock(&job->mutex);
    if (job->status == RUNG_OK) {
        job->status = status;
        snprintf(job->error, sizeof job->error, "%s", rung_error_text());
    }
    pthread_mutex_unlock(&job->mutex);
    rungi_share_stop(&job->share);
}

void rungi_job_count(rungi_job *job, rungi_way way, int64_t bytes)
{
    int64_t *counts[] = {&job->read, &job->written, &job->up, &job->down};
    pthread_mutex_lock(&job->mutex);
    *counts[way] += bytes;
    pthread_mutex_unlock(&job->mutex);
}

/* Returns how far the call is. With the job's mutex. */
static rung_outofcore_progress progress_of(const rungi_job *job)
{
    double count = (double)job->share.count, done = (double)job->before + job->computed;
    rung_outofcore_progress progress = {.done = done < count ? done / count : 1, .before = (double)job->before / count,
                                    .of = job->share.count};
    progress.blocks = rungi_smaller((int64_t)(done + 1e-6), progress.of);
    return progress;
}

static void stop_job(rungi_job *job)
{
    rungi_job_fail(job, rung_error_set(RUNG_STATUS_CANCELLED, "the multiply was stopped; if its result and its inputs are files, "
                                  "the same call resumes after the completed blocks"));
}

bool rungi_job_step(rungi_job *job, double blocks)
{
    pthread_mutex_lock(&job->mutex);
    job->computed += blocks;
    bool goes_on = job->status == RUNG_OK;
    rung_outofcore_progress progress = progress_of(job);
    pthread_mutex_unlock(&job->mutex);
    if (!goes_on || rungi_reporter_post(&job->reporter, &progress))
        return goes_on;
    stop_job(job);
    return false;
}

/* ---- The call --------------------------------------------------------------------------------------------------- */

static void run_workers(rungi_job *job, rungi_worker *workers, const rung_outofcore_device *devices, int count)
{
    int started = 0;
    rung_status status = rungi_reporter_start(&job->reporter, job->options->progress, job->options->user);
    if (status != RUNG_OK) {
        rungi_job_fail(job, status);
        return;
    }
    while (started < count && rungi_worker_start(&workers[started], job, started, devices[started].device) == RUNG_OK)
        started++;
    for (int i = 0; i < count && i <= started; i++)
        rungi_worker_join(&workers[i]);
    if (!rungi_reporter_close(&job->reporter))
        stop_job(job);
}

/* The first failure of a device is the call's, where none was left to go on. */
static rung_status outcome(rungi_job *job, const rungi_worker *workers)
{
    if (job->status != RUNG_OK)
        return rung_error_set(job->status, "%s", job->error);
    if (rungi_share_is_complete(&job->share))
        return RUNG_OK;
    const rungi_worker *first = &workers[job->first_failed < 0 ? 0 : job->first_failed];
    return first->status != RUNG_OK ? rung_error_set(first->status, "%s", first->error)
                                    : rung_error_set(RUNG_STATUS_DEVICE_LOST, "no device was left to go on");
}

static void fill_report(const rungi_job *job, const rungi_worker *workers, const rung_outofcore_device *devices, int count,
                        double seconds, rung_outofcore_report *report)
{
    const rungi_whole *whole = &job->whole;
    *report = (rung_outofcore_report){.cut = job->cut, .blocks_before = job->before, .read = job->read,
                                  .written = job->written, .up = job->up, .down = job->down, .seconds = seconds,
                                  .device_count = count};
    double blocks = job->share.count > 0 ? (double)job->share.count : 1;
    report->flops = 2 * (double)whole->m * (double)whole->n * (double)whole->k * job->computed / blocks;
    for (int i = 0; i < count; i++) {
        rung_outofcore_device_report *share = &report->devices[i];
        snprintf(share->name, sizeof share->name, "%s", rung_device_describe(devices[i].device)->name);
        snprintf(share->failure, sizeof share->failure, "%s", workers[i].error);
        share->blocks = job->share.sharers[i].blocks;
        share->waited = workers[i].waited * 1e-9;
    }
}

static rung_status share_out(rungi_job *job, const unsigned char *states, int devices)
{
    int64_t blocks = job->cut.row_blocks * job->cut.col_blocks;
    rung_status status = rungi_share_init(&job->share, blocks, devices);
    for (int64_t i = 0; status == RUNG_OK && states && i < blocks; i++)
        if (states[i])
            rungi_share_skip(&job->share, i);
    job->before = job->share.done;
    return status;
}

/* What was begun keeps its cut, unless that is more than the caller gives; how much is free differs from call to call. */
static rung_status open_output(rungi_job *job, int64_t memory, unsigned char **states)
{
    *states = NULL;
    job->c = &job->problem->c;
    if (!job->problem->path)
        return RUNG_OK;
    rung_status status = rungi_output_open(job->problem, job->options->restart != 0, &job->cut, states, &job->output);
    if (status != RUNG_OK)
        return status;
    job->c = rungi_output_stored(job->output);
    if (job->cut.used > memory)
        return rung_error_set(RUNG_STATUS_INVALID, "%s was begun with blocks that take %lld bytes; give it that much memory to go "
                         "on with them, or throw them away (restart)", job->problem->path, (long long)job->cut.used);
    return RUNG_OK;
}

static rung_status multiply_on(const rung_outofcore_problem *problem, const rung_outofcore_options *options,
                               const rung_outofcore_device *devices, int count, rung_outofcore_report *report)
{
    rungi_job job = {.problem = problem, .options = options, .whole = rungi_whole_of(problem), .first_failed = -1};
    rungi_worker workers[RUNG_OUTOFCORE_DEVICES_MAX];
    unsigned char *states;
    rungi_room room;
    double began = rungi_now();
    memset(workers, 0, sizeof workers);
    pthread_mutex_init(&job.mutex, NULL);
    rung_status status = room_of(devices, count, &room);
    if (status == RUNG_OK)
        status = rungi_cut_make(&job.whole, &room, &job.cut);
    if (status == RUNG_OK) {
        status = open_output(&job, room.given, &states);
        if (status == RUNG_OK)
            status = share_out(&job, states, count);
        free(states);
    }
    if (status == RUNG_OK) {
        run_workers(&job, workers, devices, count);
        status = outcome(&job, workers);
    }
    if (report)
        report->cut = job.cut; /* for `accept` */
    if (status == RUNG_OK && job.output)
        status = rungi_output_finish(job.output, options->accept, options->user);
    if (report)
        fill_report(&job, workers, devices, count, (rungi_now() - began) * 1e-9, report);
    rungi_output_close(job.output);
    rungi_share_free(&job.share);
    pthread_mutex_destroy(&job.mutex);
    return status;
}

static rung_status multiply_on_cpu(rung_context *context, const rung_outofcore_problem *problem,
                                   const rung_outofcore_options *options, rung_outofcore_report *report)
{
    rung_outofcore_device cpu = {.memory = options->memory};
    rung_status status = rung_device_open(context, "cpu", &cpu.device);
    if (status != RUNG_OK)
        return status;
    status = multiply_on(problem, options, &cpu, 1, report);
    rung_device_close(cpu.device);
    return status;
}

rung_status rung_outofcore_multiply(rung_context *context, const rung_outofcore_problem *problem,
                                const rung_outofcore_options *options, rung_outofcore_report *report)
{
    RUNGI_DISABLE_CANCELLATION;
    static const rung_outofcore_options usual;
    options = options ? options : &usual;
    if (report)
        *report = (rung_outofcore_report){.read = 0};
    rung_status status = check_problem(problem);
    if (status != RUNG_OK)
        return status;
    if (options->device_count < 0 || options->device_count > RUNG_OUTOFCORE_DEVICES_MAX ||
        (options->device_count > 0 && !options->devices))
        return rung_error_set(RUNG_STATUS_INVALID, "%lld devices are listed; there are %d at most, and none is the CPU",
                         (long long)options->device_count, RUNG_OUTOFCORE_DEVICES_MAX);
    if (options->device_count == 0)
        return multiply_on_cpu(context, problem, options, report);
    for (int64_t i = 0; i < options->device_count; i++)
        if (!options->devices[i].device)
            return rung_error_set(RUNG_STATUS_INVALID, "device %lld of the list is none", (long long)i);
    return multiply_on(problem, options, options->devices, (int)options->device_count, report);
}
