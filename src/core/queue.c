/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the public functions on queues, events and buffers: they validate arguments and hold references; the device
 * does the work. */
#include "base/assert.h"
#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/checked_option.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/plan.h"
#include "core/plan_table.h"

/* ---- Queues ---------------------------------------------------------------------------------------- */

/* Creates a queue, or wraps `native` unless it is NULL. */
static rung_status create_queue(rung_device *device, void *native, rung_queue **queue)
{
    TRY(device->ops->queue_create(device, native, queue));
    RUNGI_ASSERT(*queue);
    (*queue)->device = rungi_device_retain(device);
    return RUNG_OK;
}

rung_status rung_queue_create(rung_device *device, rung_queue **queue)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(queue, device, "rung_queue_create: device or queue is NULL"));
    return create_queue(device, NULL, queue);
}

rung_status rung_queue_wrap(rung_device *device, void *native, rung_queue **queue)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(queue, device, "rung_queue_wrap: device or queue is NULL"));
    return native
               ? create_queue(device, native, queue)
               : rungi_invalid("rung_queue_wrap: native is NULL; pass a queue (CU_STREAM_LEGACY for CUDA's stream 0)");
}

rung_status rung_queue_finish(rung_queue *queue)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!queue)
        return rungi_invalid("rung_queue_finish: queue is NULL");
    rung_status status = queue->device->ops->queue_finish(queue);
    rungi_trace_flush(queue);
    return status;
}

rung_status rungi_queue_finish_after(rung_queue *queue, rung_status status)
{
    if (status == RUNG_OK)
        return rung_queue_finish(queue);
    rungi_saved_error first = rungi_error_save();
    rung_queue_finish(queue);
    rungi_error_restore(&first);
    return status;
}

void rungi_queue_clear_plan_cache(rung_queue *queue)
{
    for (int i = 0; i < RUNGI_QUEUE_CACHED_PLANS_MAX; i++) {
        rung_plan_destroy(queue->plans[i]);
        queue->plans[i] = NULL;
    }
    rungi_plan_table_destroy(queue);
}

void rung_queue_destroy(rung_queue *queue)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!queue)
        return;
    rung_device *device = queue->device;
    rung_queue_finish(queue);
    rungi_queue_clear_plan_cache(queue);
    device->ops->queue_destroy(queue);
    rung_device_close(device);
}

void *rung_queue_native(const rung_queue *queue)
{
    return queue ? queue->device->ops->queue_native(queue) : NULL;
}

/* ---- Events ---------------------------------------------------------------------------------------- */

/* Creates an event, or wraps `native` unless it is NULL. */
static rung_status create_event(rung_device *device, void *native, rung_event **event)
{
    TRY(device->ops->event_create(device, native, event));
    RUNGI_ASSERT(*event);
    (*event)->device = rungi_device_retain(device);
    return RUNG_OK;
}

rung_status rung_event_create(rung_device *device, rung_event **event)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(event, device, "rung_event_create: device or event is NULL"));
    return create_event(device, NULL, event);
}

rung_status rung_event_wrap(rung_device *device, void *native, rung_event **event)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(event, device, "rung_event_wrap: device or event is NULL"));
    return native ? create_event(device, native, event)
                  : rungi_invalid("rung_event_wrap: native is NULL; pass an event of the device");
}

rung_status rung_event_wait(rung_event *event)
{
    RUNGI_DISABLE_CANCELLATION;
    return event ? event->device->ops->event_wait(event) : rungi_invalid("rung_event_wait: event is NULL");
}

rung_status rung_event_time(rung_event *event, int64_t *nanoseconds)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!event || !nanoseconds)
        return rungi_invalid("rung_event_time: event or nanoseconds is NULL");
    *nanoseconds = 0;
    TRY(event->device->ops->event_wait(event));
    return event->device->ops->event_time(event, nanoseconds);
}

void rung_event_destroy(rung_event *event)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!event)
        return;
    rung_device *device = event->device;
    device->ops->event_wait(event);
    device->ops->event_destroy(event);
    rung_device_close(device);
}

void *rung_event_native(const rung_event *event)
{
    return event ? event->device->ops->event_native(event) : NULL;
}

/* ---- Buffers --------------------------------------------------------------------------------------- */

/* Creates a buffer in the order of the queue, if there is one, else on the device; or wraps `native` unless it is
 * NULL. */
static rung_status create_or_wrap_buffer(rung_device *device, rung_queue *queue, void *native, int64_t offset,
                                         int64_t bytes, rung_buffer **buffer)
{
    int64_t end;
    if (offset < 0 || bytes < 0 || !rungi_checked_add(offset, bytes, &end))
        return rungi_invalid("a buffer of %lld bytes at offset %lld is invalid; neither may be "
                             "negative, and their sum must not overflow",
                             (long long)bytes, (long long)offset);
    if (queue && device->ops->buffer_create_on_queue)
        TRY(device->ops->buffer_create_on_queue(queue, bytes, buffer));
    else
        TRY(device->ops->buffer_create(device, native, offset, bytes, buffer));
    RUNGI_ASSERT(*buffer && (*buffer)->kernel_offset >= 0);
    (*buffer)->device = rungi_device_retain(device);
    (*buffer)->offset = offset;
    (*buffer)->bytes = bytes;
    return RUNG_OK;
}

rung_status rung_buffer_create(rung_device *device, int64_t bytes, rung_buffer **buffer)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(buffer, device, "rung_buffer_create: device or buffer is NULL"));
    return create_or_wrap_buffer(device, NULL, NULL, 0, bytes, buffer);
}

rung_status rungi_buffer_create_on_queue(rung_queue *queue, int64_t bytes, rung_buffer **buffer)
{
    *buffer = NULL;
    return create_or_wrap_buffer(queue->device, queue, NULL, 0, bytes, buffer);
}

rung_status rung_buffer_wrap(rung_device *device, void *native, int64_t offset, int64_t bytes, rung_buffer **buffer)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(buffer, device && native, "rung_buffer_wrap: device, native or buffer is NULL"));
    return create_or_wrap_buffer(device, NULL, native, offset, bytes, buffer);
}

void rung_buffer_destroy(rung_buffer *buffer)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!buffer)
        return;
    rung_device *device = buffer->device;
    device->ops->buffer_destroy(buffer);
    rung_device_close(device);
}

void *rung_buffer_native(const rung_buffer *buffer)
{
    return buffer ? buffer->device->ops->buffer_native(buffer) : NULL;
}

/* ---- Options and copies ----------------------------------------------------------------------------- */

rung_status rungi_threads_check(int64_t threads, const char *automatic)
{
    if (threads >= 0 && threads <= RUNGI_THREADS_MAX)
        return RUNG_OK;
    return rungi_invalid("threads is %lld; valid numbers are 1 to %d (0 selects %s)", (long long)threads,
                         RUNGI_THREADS_MAX, automatic);
}

rung_status rungi_run_options_check(const rung_queue *queue, const rung_run_options *given, rung_run_options *options)
{
    TRY(rungi_run_options_read(given, options));
    if (options->wait_count < 0 || options->wait_count > RUNGI_WAIT_EVENTS_MAX)
        return rungi_invalid("wait_count is %lld; valid numbers are 0 to %d", (long long)options->wait_count,
                             RUNGI_WAIT_EVENTS_MAX);
    if (options->wait_count > 0 && !options->wait)
        return rungi_invalid("wait is NULL and wait_count is %lld", (long long)options->wait_count);
    for (int64_t i = 0; i < options->wait_count; i++)
        if (!options->wait[i] || options->wait[i]->device != queue->device)
            return rungi_invalid(
                "wait[%lld] is NULL or an event of another device; for another device call rung_event_wait() first",
                (long long)i);
    if (options->signal && options->signal->device != queue->device)
        return rungi_invalid("signal is an event of another device than the queue");
    TRY(rungi_checked_option_check(options->checked));
    return rungi_threads_check(options->threads, "all threads of the plan");
}

static rung_status check_copy(const rung_queue *queue, const rung_buffer *buffer, int64_t offset, int64_t bytes,
                              const void *memory, const rung_run_options *given, rung_run_options *options)
{
    if (!queue || !buffer || (!memory && bytes > 0))
        return rungi_invalid("a copy needs a queue, a buffer and memory, and one of them is NULL");
    if (queue->device != buffer->device)
        return rungi_invalid("the buffer belongs to another device than the queue");
    if (offset < 0 || bytes < 0 || offset > buffer->bytes || bytes > buffer->bytes - offset)
        return rungi_invalid("a copy of %lld bytes at offset %lld exceeds a buffer of %lld bytes", (long long)bytes,
                             (long long)offset, (long long)buffer->bytes);
    return rungi_run_options_check(queue, given, options);
}

rung_status rung_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, const void *from,
                              const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_run_options checked;
    TRY(check_copy(queue, buffer, offset, bytes, from, options, &checked));
    return queue->device->ops->buffer_copy(queue, buffer, offset, bytes, from, NULL, &checked);
}

rung_status rung_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                             const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_run_options checked;
    TRY(check_copy(queue, buffer, offset, bytes, to, options, &checked));
    return queue->device->ops->buffer_copy(queue, buffer, offset, bytes, NULL, to, &checked);
}
