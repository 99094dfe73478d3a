/* SPDX-License-Identifier: Apache-2.0 */
/* multiply.c - rung_outofcore_multiply: reads the problem, chooses block sizes, runs the devices and writes the report. */
#include "core/by_size.h"
#include "core/cancel.h"
#include "core/checked.h"
#include "outofcore/free.h"
#include "outofcore/report.h"
#include "outofcore/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Devices, and block sizes ----------------------------------------------------------------------------- */

enum { DEVICES_MAX = 256 }; /* as outofcore.h says */

/* The devices of a call, with the memory that the caller gave each: 0 if none. */
typedef struct fleet {
    rung_device *const *devices;
    const int64_t *given; /* NULL: all 0 */
    int count;
} fleet_t;

static int64_t given_memory(const fleet_t *fleet, int index)
{
    return fleet->given ? fleet->given[index] : 0;
}

static int64_t memory_of(const fleet_t *fleet, int index)
{
    const rung_device_info *info = rung_device_describe(fleet->devices[index]);
    if (given_memory(fleet, index) != 0)
        return given_memory(fleet, index);
    return strcmp(info->backend, "cpu") == 0 || info->memory_bytes == 0 ? rungi_free_memory("") / 2
                                                                        : info->memory_bytes / 2;
}

/* Finds the limits that all devices keep to, the smallest of each. Several devices need several blocks each, or all would
 * wait for the last. */
static rung_status room_of(const fleet_t *fleet, rungi_room *room)
{
    enum { BLOCKS_EACH = 4 };
    *room = (rungi_room){
        .memory = INT64_MAX, .given = INT64_MAX, .blocks = fleet->count > 1 ? BLOCKS_EACH * fleet->count : 1};
    for (int i = 0; i < fleet->count; i++) {
        int64_t memory = memory_of(fleet, i), buffer = rung_device_describe(fleet->devices[i])->max_buffer_bytes;
        if (memory < 0)
            return rung_error_set(RUNG_STATUS_INVALID,
                                  "the memory of device %d is %lld bytes; it must not be negative (0 selects "
                                  "half of the available memory)",
                                  i, (long long)memory);
        room->memory = rungi_smaller(room->memory, memory);
        room->given = given_memory(fleet, i) != 0 && memory < room->given ? memory : room->given;
        if (buffer > 0 && (room->buffer == 0 || buffer < room->buffer))
            room->buffer = buffer;
    }
    return RUNG_OK;
}

rung_status rung_outofcore_blocking_choose(const rung_outofcore_problem *problem, int64_t memory_bytes,
                                           rung_outofcore_blocking *blocking)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_outofcore_blocking chosen = rung_outofcore_blocking_default();
    rungi_task task;
    rung_status status = rungi_struct_check(blocking, "blocking", "rung_outofcore_blocking_default");
    if (status != RUNG_OK)
        return status;
    status = rungi_task_read(problem, &task);
    if (status == RUNG_OK) {
        rungi_whole whole = rungi_whole_of(&task);
        rungi_room room = {.memory = memory_bytes ? memory_bytes : rungi_free_memory("") / 2, .blocks = 1};
        status = rungi_blocking_choose(&whole, &room, &chosen);
    }
    if (status != RUNG_OK)
        chosen = rung_outofcore_blocking_default();
    rungi_struct_write(&chosen, sizeof chosen, blocking);
    return status;
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
    rung_outofcore_progress progress = {.done = done < count ? done / count : 1,
                                        .resumed = (double)job->before / count,
                                        .total_blocks = job->share.count};
    progress.blocks = rungi_smaller((int64_t)(done + 1e-6), progress.total_blocks);
    return progress;
}

static void stop_job(rungi_job *job)
{
    rungi_job_fail(job, rung_error_set(RUNG_STATUS_CANCELLED,
                                       "the multiply was stopped; if its result and its inputs are files, "
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

static void run_workers(rungi_job *job, rungi_worker *workers, const fleet_t *fleet)
{
    int started = 0;
    rung_status status = rungi_reporter_start(&job->reporter, job->options->progress, job->options->user);
    if (status != RUNG_OK) {
        rungi_job_fail(job, status);
        return;
    }
    while (started < fleet->count &&
           rungi_worker_start(&workers[started], job, started, fleet->devices[started]) == RUNG_OK)
        started++;
    for (int i = 0; i < fleet->count && i <= started; i++)
        rungi_worker_join(&workers[i]);
    if (!rungi_reporter_close(&job->reporter))
        stop_job(job);
}

/* Returns the result of the call: if no device is left, that of the first device that failed. */
static rung_status outcome(rungi_job *job, const rungi_worker *workers)
{
    if (job->status != RUNG_OK)
        return rung_error_set(job->status, "%s", job->error);
    if (rungi_share_is_complete(&job->share))
        return RUNG_OK;
    const rungi_worker *first = &workers[job->first_failed < 0 ? 0 : job->first_failed];
    return first->status != RUNG_OK ? rung_error_set(first->status, "%s", first->error)
                                    : rung_error_set(RUNG_STATUS_DEVICE_LOST, "no device is left to continue");
}

static void fill_report(const rungi_job *job, const rungi_worker *workers, double seconds, rungi_report *report)
{
    const rungi_whole *whole = &job->whole;
    rung_outofcore_report *shown = &report->shown;
    double blocks = job->share.count > 0 ? (double)job->share.count : 1;
    report->blocking = job->blocking;
    shown->resumed_blocks = job->before;
    shown->read_bytes = job->read;
    shown->written_bytes = job->written;
    shown->upload_bytes = job->up;
    shown->download_bytes = job->down;
    shown->seconds = seconds;
    shown->flops = 2 * (double)whole->m * (double)whole->n * (double)whole->k * job->computed / blocks;
    for (int64_t i = 0; i < shown->device_count; i++) {
        report->devices[i].blocks = job->share.sharers ? job->share.sharers[i].blocks : 0;
        report->devices[i].wait_seconds = workers[i].waited * 1e-9;
        if (workers[i].status != RUNG_OK)
            rungi_report_fail(report, i, workers[i].status, workers[i].error);
    }
}

static rung_status share_out(rungi_job *job, const unsigned char *states, int devices)
{
    int64_t blocks = job->blocking.row_blocks * job->blocking.col_blocks;
    rung_status status = rungi_share_init(&job->share, blocks, devices);
    for (int64_t i = 0; status == RUNG_OK && states && i < blocks; i++)
        if (states[i])
            rungi_share_skip(&job->share, i);
    job->before = job->share.done;
    return status;
}

/* Opens the result's file. A call that is resumed keeps its block sizes, unless they need more memory than the caller gives:
 * how much is free differs from call to call. */
static rung_status open_output(rungi_job *job, int64_t memory, unsigned char **states)
{
    *states = NULL;
    job->c = &job->problem->c;
    if (!job->problem->path)
        return RUNG_OK;
    rung_status status = rungi_output_open(job->problem, job->options->restart != 0, &job->blocking, states,
                                           &job->output);
    if (status != RUNG_OK)
        return status;
    job->c = rungi_output_stored(job->output);
    if (job->blocking.used_bytes > memory)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s was begun with blocks that use %lld bytes, and %lld are given; give that much "
                              "memory to resume, or discard what was computed (restart)",
                              job->problem->path, (long long)job->blocking.used_bytes, (long long)memory);
    return RUNG_OK;
}

/* Chooses block sizes, opens the output and lists the blocks. */
static rung_status begin(rungi_job *job, const fleet_t *fleet)
{
    unsigned char *states;
    rungi_room room;
    rung_status status = room_of(fleet, &room);
    if (status == RUNG_OK)
        status = rungi_blocking_choose(&job->whole, &room, &job->blocking);
    if (status != RUNG_OK)
        return status;
    status = open_output(job, room.given, &states);
    if (status == RUNG_OK)
        status = share_out(job, states, fleet->count);
    free(states);
    return status;
}

static rung_status multiply_on(const rungi_task *task, const rung_outofcore_options *options, const fleet_t *fleet,
                               rungi_report *report)
{
    rungi_job job = {.problem = task, .options = options, .whole = rungi_whole_of(task), .first_failed = -1};
    rungi_worker *workers = calloc((size_t)fleet->count, sizeof *workers);
    double began = rungi_now();
    if (!workers)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to run %d devices", fleet->count);
    pthread_mutex_init(&job.mutex, NULL);
    rung_status status = begin(&job, fleet);
    if (status == RUNG_OK) {
        run_workers(&job, workers, fleet);
        status = outcome(&job, workers);
    }
    report->blocking = job.blocking; /* for `accept` */
    if (status == RUNG_OK && job.output)
        status = rungi_output_finish(job.output, options->accept, options->user, &report->shown);
    fill_report(&job, workers, (rungi_now() - began) * 1e-9, report);
    rungi_output_close(job.output);
    rungi_share_free(&job.share);
    pthread_mutex_destroy(&job.mutex);
    free(workers);
    return status;
}

/* Multiplies, and gives the report to a caller that wants one, whatever the result. */
static rung_status multiply_with_report(const rungi_task *task, const rung_outofcore_options *options,
                                        const fleet_t *fleet, rung_outofcore_report **shown)
{
    rungi_report *report;
    rung_status status = rungi_report_create(fleet->count, &report);
    if (status != RUNG_OK)
        return status;
    for (int i = 0; i < fleet->count; i++)
        rungi_report_name(report, i, rung_device_describe(fleet->devices[i])->name);
    status = multiply_on(task, options, fleet, report);
    if (shown)
        *shown = &report->shown;
    else
        rung_outofcore_report_destroy(&report->shown);
    return status;
}

static rung_status multiply_on_cpu(rung_context *context, const rungi_task *task, const rung_outofcore_options *options,
                                   rung_outofcore_report **report)
{
    rung_device *cpu;
    rung_status status = rung_device_open(context, "cpu", &cpu);
    if (status != RUNG_OK)
        return status;
    fleet_t fleet = {.devices = &cpu, .given = &options->memory_bytes, .count = 1};
    status = multiply_with_report(task, options, &fleet, report);
    rung_device_close(cpu);
    return status;
}

static rung_status check_devices(const rung_outofcore_options *options)
{
    if (options->device_count < 0 || options->device_count > DEVICES_MAX)
        return rung_error_set(RUNG_STATUS_INVALID, "device_count is %lld; it must be 0 to %d (0 selects the CPU)",
                              (long long)options->device_count, DEVICES_MAX);
    if (options->device_count > 0 && !options->devices)
        return rung_error_set(RUNG_STATUS_INVALID, "device_count is %lld and devices is NULL",
                              (long long)options->device_count);
    for (int64_t i = 0; i < options->device_count; i++)
        if (!options->devices[i])
            return rung_error_set(RUNG_STATUS_INVALID, "devices[%lld] is NULL; open it with rung_device_open()",
                                  (long long)i);
    return RUNG_OK;
}

rung_status rung_outofcore_multiply(rung_context *context, const rung_outofcore_problem *problem,
                                    const rung_outofcore_options *given, rung_outofcore_report **report)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_outofcore_options options = rung_outofcore_options_default();
    rungi_task task;
    if (report)
        *report = NULL;
    rung_status status = rungi_task_read(problem, &task);
    if (status == RUNG_OK && given)
        status = rungi_struct_read(given, &options, sizeof options, "options", "rung_outofcore_options_default");
    if (status == RUNG_OK)
        status = check_devices(&options);
    if (status != RUNG_OK)
        return status;
    if (options.device_count == 0)
        return multiply_on_cpu(context, &task, &options, report);
    fleet_t fleet = {
        .devices = options.devices, .given = options.device_memory_bytes, .count = (int)options.device_count};
    return multiply_with_report(&task, &options, &fleet, report);
}
