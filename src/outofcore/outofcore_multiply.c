/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_multiply.c - rung_outofcore_multiply: chooses block sizes, runs one worker per device and fills the report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/available_memory.h"
#include "base/cancellation.h"
#include "base/checked_option.h"
#include "base/clock.h"
#include "base/try.h"
#include "base/versioned_struct.h"
#include "outofcore/worker.h"

/* ---- Devices and block sizes ----------------------------------------------------------------------------- */

enum { MAX_DEVICES = 256 }; /* documented in outofcore.h */

/* Devices of a call and their memory limits. */
typedef struct outofcore_devices {
    rung_device *const *devices;
    const int64_t *memory_bytes; /* one limit per device, 0: automatic; NULL: all 0 */
    int count;
} outofcore_devices_t;

static int64_t caller_memory(const outofcore_devices_t *devices, int index)
{
    return devices->memory_bytes ? devices->memory_bytes[index] : 0;
}

static int64_t device_memory(const outofcore_devices_t *devices, int index)
{
    const rung_device_info *info = rung_device_describe(devices->devices[index]);
    if (caller_memory(devices, index) != 0)
        return caller_memory(devices, index);
    return strcmp(info->backend, "cpu") == 0 || info->memory_bytes == 0 ? rungi_available_memory("") / 2
                                                                        : info->memory_bytes / 2;
}

/* Finds the smallest limits of all devices. Several devices need several blocks each; otherwise all would wait for the
 * slowest device at the end. */
static rung_status find_limits_of_devices(const outofcore_devices_t *devices, rungi_outofcore_limits *limits)
{
    enum { MIN_BLOCKS_PER_DEVICE = 4 };
    *limits = (rungi_outofcore_limits){.memory = INT64_MAX,
                                       .caller_memory = INT64_MAX,
                                       .min_blocks = devices->count > 1 ? MIN_BLOCKS_PER_DEVICE * devices->count : 1};
    for (int i = 0; i < devices->count; i++) {
        int64_t memory = device_memory(devices, i),
                buffer = rung_device_describe(devices->devices[i])->max_buffer_bytes;
        if (memory < 0)
            return rungi_invalid("the memory of device %d is %lld bytes; it must not be negative (0 selects "
                                 "half of the available memory)",
                                 i, (long long)memory);
        limits->memory = rungi_min(limits->memory, memory);
        if (caller_memory(devices, i) != 0)
            limits->caller_memory = rungi_min(limits->caller_memory, memory);
        if (buffer > 0 && (limits->max_buffer_bytes == 0 || buffer < limits->max_buffer_bytes))
            limits->max_buffer_bytes = buffer;
    }
    return RUNG_OK;
}

rung_status rung_outofcore_blocking_choose(const rung_outofcore_problem *problem, int64_t memory_bytes,
                                           rung_outofcore_blocking *blocking)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_outofcore_blocking chosen = rung_outofcore_blocking_default();
    rungi_outofcore_problem checked;
    TRY(rungi_versioned_struct_check(blocking, "blocking", "rung_outofcore_blocking_default"));
    rung_status status = rungi_outofcore_problem_read(problem, &checked);
    if (status == RUNG_OK) {
        rungi_outofcore_sizes sizes = rungi_outofcore_sizes_of(&checked);
        rungi_outofcore_limits limits = {.memory = memory_bytes ? memory_bytes : rungi_available_memory("") / 2,
                                         .min_blocks = 1};
        status = rungi_blocking_choose(&sizes, &limits, &chosen);
    }
    if (status != RUNG_OK)
        chosen = rung_outofcore_blocking_default();
    rungi_versioned_struct_write(&chosen, sizeof chosen, blocking);
    return status;
}

/* ---- Reports -------------------------------------------------------------------------------------------------- */

/* The report of a call, with the memory that its pointers point to. */
typedef struct outofcore_report {
    rung_outofcore_report public_report; /* first, so that the caller's pointer is also this struct's */
    rung_outofcore_blocking blocking;
    struct {
        rung_outofcore_device_report public_report;
        char name[64];
        rungi_outofcore_failure failure;
    } devices[];
} outofcore_report_t;

/* Creates a report with the names of the devices. */
static rung_status create_report(const outofcore_devices_t *devices, outofcore_report_t **created)
{
    outofcore_report_t *report = calloc(1, sizeof *report + (size_t)devices->count * sizeof *report->devices);
    if (!report)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a report about %d devices", devices->count);
    report->blocking = rung_outofcore_blocking_default();
    report->public_report.blocking = &report->blocking;
    report->public_report.device_count = devices->count;
    for (int i = 0; i < devices->count; i++) {
        char *name = report->devices[i].name;
        snprintf(name, sizeof report->devices[i].name, "%s", rung_device_describe(devices->devices[i])->name);
        report->devices[i].public_report.name = name;
        report->devices[i].public_report.failure = report->devices[i].failure.text;
    }
    *created = report;
    return RUNG_OK;
}

const rung_outofcore_device_report *rung_outofcore_report_device(const rung_outofcore_report *report, int64_t index)
{
    if (!report || index < 0 || index >= report->device_count)
        return NULL;
    return &((const outofcore_report_t *)report)->devices[index].public_report;
}

void rung_outofcore_report_destroy(rung_outofcore_report *public_report)
{
    RUNGI_DISABLE_CANCELLATION;
    free(public_report); /* the first member of outofcore_report_t */
}

/* ---- State shared by the workers ------------------------------------------------------------------------------ */

void rungi_job_fail(rungi_job *job, rung_status status)
{
    pthread_mutex_lock(&job->mutex);
    rungi_outofcore_failure_record(&job->failure, status);
    pthread_mutex_unlock(&job->mutex);
    rungi_block_queue_stop(&job->block_queue);
}

void rungi_job_count(rungi_job *job, int64_t *counter, int64_t number)
{
    pthread_mutex_lock(&job->mutex);
    *counter += number;
    pthread_mutex_unlock(&job->mutex);
}

/* Returns the progress of the call. The caller holds the mutex. */
static rung_outofcore_progress current_progress(const rungi_job *job)
{
    double count = (double)job->block_queue.count, done = (double)job->counts.resumed_blocks + job->computed_blocks;
    rung_outofcore_progress progress = {.done = done < count ? done / count : 1,
                                        .resumed = (double)job->counts.resumed_blocks / count,
                                        .total_blocks = job->block_queue.count};
    progress.blocks = rungi_min((int64_t)(done + 1e-6), progress.total_blocks);
    return progress;
}

static void cancel_job(rungi_job *job)
{
    rungi_job_fail(job, rungi_fail(RUNG_STATUS_CANCELLED,
                                   "the multiply was stopped; if its result and its inputs are files, "
                                   "the same call resumes after the completed blocks"));
}

bool rungi_job_add_progress(rungi_job *job, double blocks)
{
    pthread_mutex_lock(&job->mutex);
    job->computed_blocks += blocks;
    bool can_continue = job->failure.status == RUNG_OK;
    rung_outofcore_progress progress = current_progress(job);
    pthread_mutex_unlock(&job->mutex);
    if (!can_continue || rungi_reporter_post(&job->reporter, &progress))
        return can_continue;
    cancel_job(job);
    return false;
}

/* ---- The call --------------------------------------------------------------------------------------------------- */

static void run_workers(rungi_job *job, rungi_worker *workers, const outofcore_devices_t *devices)
{
    int started = 0;
    rung_status status = rungi_reporter_start(&job->reporter, job->options->progress, job->options->user);
    if (status != RUNG_OK) {
        rungi_job_fail(job, status);
        return;
    }
    while (started < devices->count &&
           rungi_worker_start(&workers[started], job, started, devices->devices[started]) == RUNG_OK)
        started++;
    for (int i = 0; i < devices->count && i <= started; i++)
        rungi_worker_join(&workers[i]);
    if (!rungi_reporter_close(&job->reporter))
        cancel_job(job);
}

/* Returns the result of the call. If all devices failed, it is the failure of the first one. */
static rung_status job_status(rungi_job *job, const rungi_worker *workers)
{
    TRY(rungi_outofcore_failure_return(&job->failure));
    if (rungi_block_queue_is_complete(&job->block_queue))
        return RUNG_OK;
    const rungi_worker *first = &workers[job->first_failed < 0 ? 0 : job->first_failed];
    TRY(rungi_outofcore_failure_return(&first->failure));
    return rungi_fail(RUNG_STATUS_DEVICE_LOST, "all devices failed");
}

static void fill_report(const rungi_job *job, const rungi_worker *workers, double seconds, outofcore_report_t *report)
{
    const rungi_outofcore_sizes *sizes = &job->sizes;
    rung_outofcore_report *public_report = &report->public_report;
    double blocks = job->block_queue.count > 0 ? (double)job->block_queue.count : 1;
    report->blocking = job->blocking;
    *public_report = job->counts;
    public_report->seconds = seconds;
    public_report->flops = 2 * (double)sizes->m * (double)sizes->n * (double)sizes->k * job->computed_blocks / blocks;
    for (int64_t i = 0; i < public_report->device_count; i++) {
        rung_outofcore_device_report *device = &report->devices[i].public_report;
        device->blocks = job->block_queue.devices ? job->block_queue.devices[i].blocks : 0;
        device->wait_seconds = (double)workers[i].wait_ns * 1e-9;
        device->status = workers[i].failure.status;
        report->devices[i].failure = workers[i].failure;
    }
}

static rung_status create_block_queue(rungi_job *job, const unsigned char *is_block_done, int devices)
{
    int64_t blocks = job->blocking.row_blocks * job->blocking.col_blocks;
    rung_status status = rungi_block_queue_init(&job->block_queue, blocks, devices);
    for (int64_t i = 0; status == RUNG_OK && is_block_done && i < blocks; i++)
        if (is_block_done[i])
            rungi_block_queue_skip(&job->block_queue, i);
    job->counts.resumed_blocks = job->block_queue.done_count;
    return status;
}

/* Opens the result file. A resumed call keeps the block sizes of the earlier call, also if less memory is free now, but not
 * if they need more memory than the caller allows. */
static rung_status open_output(rungi_job *job, int64_t memory, unsigned char **is_block_done)
{
    *is_block_done = NULL;
    job->c = &job->problem->c;
    if (!job->problem->path)
        return RUNG_OK;
    TRY(rungi_output_open(job->problem, job->options->restart != 0, &job->blocking, is_block_done, &job->output));
    job->c = &job->output->matrix;
    if (job->blocking.used_bytes > memory)
        return rungi_invalid("%s was started with blocks that use %lld bytes; the limit is now %lld; give that much "
                             "memory to resume, or discard what was computed (restart)",
                             job->problem->path, (long long)job->blocking.used_bytes, (long long)memory);
    return RUNG_OK;
}

/* Chooses block sizes, opens the output and lists the blocks. */
static rung_status open_job(rungi_job *job, const outofcore_devices_t *devices)
{
    unsigned char *is_block_done;
    rungi_outofcore_limits limits;
    TRY(find_limits_of_devices(devices, &limits));
    TRY(rungi_blocking_choose(&job->sizes, &limits, &job->blocking));
    rung_status status = open_output(job, limits.caller_memory, &is_block_done);
    if (status == RUNG_OK)
        status = create_block_queue(job, is_block_done, devices->count);
    free(is_block_done);
    return status;
}

static rung_status multiply_on_devices(const rungi_outofcore_problem *problem, const rung_outofcore_options *options,
                                       const outofcore_devices_t *devices, outofcore_report_t *report)
{
    rungi_job job = {.problem = problem,
                     .options = options,
                     .sizes = rungi_outofcore_sizes_of(problem),
                     .counts = report->public_report,
                     .first_failed = -1};
    rungi_worker *workers = calloc((size_t)devices->count, sizeof *workers);
    int64_t start_ns = rungi_clock_ns();
    if (!workers)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to run %d devices", devices->count);
    pthread_mutex_init(&job.mutex, NULL);
    rung_status status = open_job(&job, devices);
    if (status == RUNG_OK) {
        run_workers(&job, workers, devices);
        status = job_status(&job, workers);
    }
    report->blocking = job.blocking; /* for `accept` */
    if (status == RUNG_OK && job.output)
        status = rungi_output_finish(job.output, options->accept, options->user, &report->public_report);
    fill_report(&job, workers, (double)(rungi_clock_ns() - start_ns) * 1e-9, report);
    rungi_output_close(job.output);
    rungi_block_queue_free(&job.block_queue);
    pthread_mutex_destroy(&job.mutex);
    free(workers);
    return status;
}

/* Multiplies and fills the report, also if the multiply fails. */
static rung_status multiply_with_report(const rungi_outofcore_problem *problem, const rung_outofcore_options *options,
                                        const outofcore_devices_t *devices, rung_outofcore_report **public_report)
{
    outofcore_report_t *report = NULL;
    TRY(create_report(devices, &report));
    rung_status status = multiply_on_devices(problem, options, devices, report);
    if (public_report)
        *public_report = &report->public_report;
    else
        rung_outofcore_report_destroy(&report->public_report);
    return status;
}

static rung_status multiply_on_cpu(rung_context *context, const rungi_outofcore_problem *problem,
                                   const rung_outofcore_options *options, rung_outofcore_report **report)
{
    rung_device *cpu;
    TRY(rung_device_open(context, "cpu", &cpu));
    outofcore_devices_t devices = {.devices = &cpu, .memory_bytes = &options->memory_bytes, .count = 1};
    rung_status status = multiply_with_report(problem, options, &devices, report);
    rung_device_close(cpu);
    return status;
}

static rung_status check_options(const rung_outofcore_options *options)
{
    TRY(rungi_checked_option_check(options->checked));
    if (options->device_count < 0 || options->device_count > MAX_DEVICES)
        return rungi_invalid("device_count is %lld; it must be 0 to %d (0 selects the CPU)",
                             (long long)options->device_count, MAX_DEVICES);
    if (options->device_count > 0 && !options->devices)
        return rungi_invalid("device_count is %lld and devices is NULL", (long long)options->device_count);
    for (int64_t i = 0; i < options->device_count; i++)
        if (!options->devices[i])
            return rungi_invalid("devices[%lld] is NULL; open it with rung_device_open()", (long long)i);
    return RUNG_OK;
}

rung_status rung_outofcore_multiply(rung_context *context, const rung_outofcore_problem *problem,
                                    const rung_outofcore_options *caller_options, rung_outofcore_report **report)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_outofcore_options options = rung_outofcore_options_default();
    rungi_outofcore_problem read;
    if (report)
        *report = NULL;
    TRY(rungi_outofcore_problem_read(problem, &read));
    if (caller_options)
        TRY(rungi_versioned_struct_read(caller_options, &options, sizeof options, "options",
                                        "rung_outofcore_options_default"));
    TRY(check_options(&options));
    read.is_checked = options.checked != 0;
    if (options.device_count == 0)
        return multiply_on_cpu(context, &read, &options, report);
    outofcore_devices_t devices = {
        .devices = options.devices, .memory_bytes = options.device_memory_bytes, .count = (int)options.device_count};
    return multiply_with_report(&read, &options, &devices, report);
}
