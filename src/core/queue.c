/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the public calls on queues, events and buffers: arguments checked
 * and references held here, the work itself done by the device. */
#include "core/assert.h"
#include "core/cancel.h"
#include "core/checked.h"
#include "core/device.h"
#include "core/growth.h"
#include "core/run.h"
#include "core/trace.h"

/* ---- Queues ------------------------------------------------------------------------ */

static rung_status make_queue(rung_device *device, void *native, rung_queue **queue)
{
    rung_status status = device->ops->queue_create(device, native, queue);
    RUNGI_ASSERT(status != RUNG_OK || *queue);
    if (status == RUNG_OK)
        (*queue)->device = rungi_device_retain(device);
    return status;
}

rung_status rung_queue_create(rung_device *device, rung_queue **queue)
{
    RUNGI_DISABLE_CANCELLATION;
    if (queue)
        *queue = NULL;
    if (!device || !queue)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_queue_create needs a device and a place for the queue");
    return make_queue(device, NULL, queue);
}

rung_status rung_queue_wrap(rung_device *device, void *native, rung_queue **queue)
{
    RUNGI_DISABLE_CANCELLATION;
    if (queue)
        *queue = NULL;
    if (!device || !native || !queue)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_queue_wrap needs a device, a queue to wrap (for CUDA's "
                                               "stream 0: CU_STREAM_LEGACY) and a place for the result");
    return make_queue(device, native, queue);
}

rung_status rung_queue_finish(rung_queue *queue)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!queue)
        return rungi_fail(RUNG_STATUS_INVALID, "the queue is NULL");
    rung_status status = queue->device->ops->queue_finish(queue);
    rungi_trace_tell(queue);
    return status;
}

void rungi_queue_forget_plans(rung_queue *queue)
{
    for (int i = 0; i < RUNGI_PLANS_KEPT; i++) {
        rung_plan_destroy(queue->plans[i]);
        queue->plans[i] = NULL;
    }
}

void rung_queue_destroy(rung_queue *queue)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!queue)
        return;
    rung_device *device = queue->device;
    device->ops->queue_finish(queue);
    rungi_trace_tell(queue);
    rungi_queue_forget_plans(queue);
    device->ops->queue_destroy(queue);
    rung_device_close(device);
}

void *rung_queue_native(const rung_queue *queue)
{
    return queue ? queue->device->ops->queue_native(queue) : NULL;
}

/* ---- Events ------------------------------------------------------------------------- */

static rung_status make_event(rung_device *device, void *native, rung_event **event)
{
    rung_status status = device->ops->event_create(device, native, event);
    RUNGI_ASSERT(status != RUNG_OK || *event);
    if (status == RUNG_OK)
        (*event)->device = rungi_device_retain(device);
    return status;
}

rung_status rung_event_create(rung_device *device, rung_event **event)
{
    RUNGI_DISABLE_CANCELLATION;
    if (event)
        *event = NULL;
    if (!device || !event)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_event_create needs a device and a place for the event");
    return make_event(device, NULL, event);
}

rung_status rung_event_wrap(rung_device *device, void *native, rung_event **event)
{
    RUNGI_DISABLE_CANCELLATION;
    if (event)
        *event = NULL;
    if (!device || !native || !event)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_event_wrap needs a device, an event to wrap and a place "
                                               "for the result");
    return make_event(device, native, event);
}

rung_status rung_event_wait(rung_event *event)
{
    RUNGI_DISABLE_CANCELLATION;
    return event ? event->device->ops->event_wait(event) : rungi_fail(RUNG_STATUS_INVALID, "the event is NULL");
}

rung_status rung_event_time(rung_event *event, int64_t *nanoseconds)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!event || !nanoseconds)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_event_time needs an event and a place for the time");
    *nanoseconds = 0;
    rung_status status = event->device->ops->event_wait(event);
    return status == RUNG_OK ? event->device->ops->event_time(event, nanoseconds) : status;
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

/* ---- Buffers ------------------------------------------------------------------------- */

/* On the queue if one is given, else on the device. */
static rung_status make_buffer(rung_device *device, rung_queue *queue, void *native, int64_t offset, int64_t bytes,
                               rung_buffer **buffer)
{
    int64_t end;
    if (offset < 0 || bytes < 0 || !rungi_add(offset, bytes, &end))
        return rungi_fail(RUNG_STATUS_INVALID, "a buffer of %lld bytes at offset %lld cannot be", (long long)bytes,
                          (long long)offset);
    if ((uint64_t)end > PTRDIFF_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "a buffer of %lld bytes does not fit the address space",
                          (long long)bytes);
    rung_status status = queue && device->ops->buffer_create_on
                             ? device->ops->buffer_create_on(queue, bytes, buffer)
                             : device->ops->buffer_create(device, native, offset, bytes, buffer);
    if (status != RUNG_OK)
        return status;
    RUNGI_ASSERT(*buffer && (*buffer)->start >= 0);
    (*buffer)->device = rungi_device_retain(device);
    (*buffer)->offset = offset;
    (*buffer)->bytes = bytes;
    return RUNG_OK;
}

rung_status rung_buffer_create(rung_device *device, int64_t bytes, rung_buffer **buffer)
{
    RUNGI_DISABLE_CANCELLATION;
    if (buffer)
        *buffer = NULL;
    if (!device || !buffer)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_buffer_create needs a device and a place for the buffer");
    return make_buffer(device, NULL, NULL, 0, bytes, buffer);
}

rung_status rungi_buffer_create_on(rung_queue *queue, int64_t bytes, rung_buffer **buffer)
{
    *buffer = NULL;
    return make_buffer(queue->device, queue, NULL, 0, bytes, buffer);
}

rung_status rung_buffer_wrap(rung_device *device, void *native, int64_t offset, int64_t bytes, rung_buffer **buffer)
{
    RUNGI_DISABLE_CANCELLATION;
    if (buffer)
        *buffer = NULL;
    if (!device || !native || !buffer)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_buffer_wrap needs a device, memory to wrap and a place "
                                               "for the buffer");
    return make_buffer(device, NULL, native, offset, bytes, buffer);
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

/* ---- Work ------------------------------------------------------------------------------ */

rung_status rungi_run_check(const rung_queue *queue, const rung_run_options *given, rung_run_options *options)
{
    rung_status status = rungi_run_options_read(given, options);
    if (status != RUNG_OK)
        return status;
    given = options;
    if (given->wait_count < 0 || given->wait_count > RUNGI_WAITS_MAX || (given->wait_count > 0 && !given->wait))
        return rungi_fail(RUNG_STATUS_INVALID, "a piece of work waits for 0 to %d events", RUNGI_WAITS_MAX);
    for (int64_t i = 0; i < given->wait_count; i++)
        if (!given->wait[i] || given->wait[i]->device != queue->device)
            return rungi_fail(RUNG_STATUS_INVALID, "an event to wait for is NULL or of another device; "
                                                   "rung_event_wait for that one first");
    if (given->signal && given->signal->device != queue->device)
        return rungi_fail(RUNG_STATUS_INVALID, "the event to signal is of another device");
    return rungi_threads_check(given->threads, "all threads of the plan");
}

static rung_status check_copy(const rung_queue *queue, const rung_buffer *buffer, int64_t offset, int64_t bytes,
                              const void *memory, const rung_run_options *given, rung_run_options *options)
{
    if (!queue || !buffer || (!memory && bytes > 0))
        return rungi_fail(RUNG_STATUS_INVALID, "a copy needs a queue, a buffer and memory");
    if (queue->device != buffer->device)
        return rungi_fail(RUNG_STATUS_INVALID, "the buffer is of another device than the queue");
    if (offset < 0 || bytes < 0 || offset > buffer->bytes || bytes > buffer->bytes - offset)
        return rungi_fail(RUNG_STATUS_INVALID, "a copy of %lld bytes at %lld leaves a buffer of %lld bytes",
                          (long long)bytes, (long long)offset, (long long)buffer->bytes);
    return rungi_run_check(queue, given, options);
}

rung_status rung_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, const void *from,
                              const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_run_options read;
    rung_status status = check_copy(queue, buffer, offset, bytes, from, options, &read);
    return status == RUNG_OK ? queue->device->ops->buffer_write(queue, buffer, offset, bytes, from, &read) : status;
}

rung_status rung_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                             const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_run_options read;
    rung_status status = check_copy(queue, buffer, offset, bytes, to, options, &read);
    return status == RUNG_OK ? queue->device->ops->buffer_read(queue, buffer, offset, bytes, to, &read) : status;
}
