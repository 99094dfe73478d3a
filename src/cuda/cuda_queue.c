/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_queue.c - queues (streams) and events of the CUDA device, created or wrapped. */
#include "cuda/cuda_device.h"

#include "base/assert.h"
#include "base/try.h"

static rungi_cuda_device *device_of(const rung_queue *queue)
{
    return rungi_cuda_device_of(queue->device);
}

/* ---- Queues -------------------------------------------------------------------------------------- */

/* The default streams, 0x1 and 0x2, belong to the current context. */
static rung_status check_stream(rungi_cuda_device *own, rungi_cu_stream stream)
{
    rungi_cu_context context = NULL;
    if ((uintptr_t)stream <= 2)
        return RUNG_OK;
    TRY(RUNGI_CUDA_CALL(own, StreamGetCtx, stream, &context));
    if (context != own->context)
        return rungi_invalid("the wrapped CUstream belongs to another CUcontext than the device");
    return RUNG_OK;
}

static rung_status set_stream(rungi_cuda_device *own, void *native, rungi_cuda_queue *queue)
{
    queue->stream = native;
    queue->is_owned = !native;
    if (native)
        return check_stream(own, native);
    TRY(RUNGI_CUDA_CALL(own, StreamCreate, &queue->stream, RUNGI_CU_STREAM_NON_BLOCKING));
    rungi_cu_track(own->cu, RUNGI_CU_STREAM, 1);
    return RUNG_OK;
}

rung_status rungi_cuda_queue_create(rung_device *device, void *native, rung_queue **queue)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cuda_queue *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cuda_context_push(own);
    if (status == RUNG_OK)
        status = rungi_cuda_context_leave(own, set_stream(own, native, made));
    if (status == RUNG_OK)
        *queue = &made->base;
    else
        rungi_release(device->context, made);
    return status;
}

rung_status rungi_cuda_queue_finish(rung_queue *queue)
{
    rungi_cuda_device *own = device_of(queue);
    TRY(rungi_cuda_context_push(own));
    return rungi_cuda_context_leave(own, RUNGI_CUDA_CALL(own, StreamSynchronize, rungi_cuda_stream_of(queue)));
}

void rungi_cuda_queue_destroy(rung_queue *queue)
{
    rungi_cuda_device *own = device_of(queue);
    if (((rungi_cuda_queue *)queue)->is_owned) {
        if (rungi_cuda_context_push_for_release(own)) {
            own->cu->StreamDestroy(rungi_cuda_stream_of(queue));
            rungi_cuda_context_pop(own);
        }
        rungi_cu_track(own->cu, RUNGI_CU_STREAM, -1);
    }
    rungi_release(queue->device->context, queue);
}

void *rungi_cuda_queue_native(const rung_queue *queue)
{
    return rungi_cuda_stream_of(queue);
}

bool rungi_cuda_queue_is_captured(const rung_queue *queue)
{
    rungi_cuda_device *own = device_of(queue);
    unsigned int status = 0;
    if (!rungi_cuda_context_push_for_release(own)) /* the next submission reports the failure */
        return false;
    bool known = own->cu->StreamIsCapturing(rungi_cuda_stream_of(queue), &status) == 0;
    rungi_cuda_context_pop(own);
    return known && status != 0;
}

/* ---- Events -------------------------------------------------------------------------------------- */

static void destroy_event(rungi_cuda_device *own, rungi_cu_event event, bool entered)
{
    if (!event)
        return;
    if (entered)
        own->cu->EventDestroy(event);
    rungi_cu_track(own->cu, RUNGI_CU_EVENT, -1);
}

static void event_pair_release(rungi_cuda_device *own, rungi_cuda_event_pair *event_pair)
{
    if (!event_pair)
        return;
    int before = atomic_fetch_sub(&event_pair->references, 1);
    RUNGI_ASSERT(before > 0);
    if (before != 1)
        return;
    bool entered = rungi_cuda_context_push_for_release(own);
    destroy_event(own, event_pair->first, entered);
    if (event_pair->owns_last)
        destroy_event(own, event_pair->last, entered);
    if (entered)
        rungi_cuda_context_pop(own);
    event_pair_release(own, event_pair->start_from); /* a pair of the library, which has no start_from itself */
    rungi_release(own->base.context, event_pair);
}

static rung_status create_event(rungi_cuda_device *own, rungi_cu_event *event)
{
    rung_status status = RUNGI_CUDA_CALL(own, EventCreate, event, RUNGI_CU_EVENT_DEFAULT);
    if (status == RUNG_OK)
        rungi_cu_track(own->cu, RUNGI_CU_EVENT, 1);
    else
        *event = NULL;
    return status;
}

/* Releases a pair that could not be completed. The CUcontext is current: a device that has just been lost may not allow
 * the library to enter it again, and the first event would be left. */
static void discard_pair(rungi_cuda_device *own, rungi_cuda_event_pair *event_pair)
{
    destroy_event(own, event_pair->first, true);
    rungi_release(own->base.context, event_pair);
}

/* The CUcontext is current. A wrapped event is the later event of the pair. */
static rung_status event_pair_create(rungi_cuda_device *own, void *native, rungi_cuda_event_pair **event_pair)
{
    rungi_cuda_event_pair *made = rungi_allocate_zeroed(own->base.context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    atomic_init(&made->references, 1);
    made->last = native;
    made->owns_last = !native;
    rung_status status = create_event(own, &made->first);
    if (status == RUNG_OK && !native)
        status = create_event(own, &made->last);
    if (status == RUNG_OK)
        *event_pair = made;
    else
        discard_pair(own, made);
    return status;
}

rung_status rungi_cuda_event_create(rung_device *device, void *native, rung_event **event)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cuda_event *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cuda_context_push(own);
    if (status == RUNG_OK)
        status = rungi_cuda_context_leave(own, event_pair_create(own, native, &made->event_pair));
    if (status == RUNG_OK)
        *event = &made->base;
    else
        rungi_release(device->context, made);
    return status;
}

static rungi_cuda_event_pair *event_pair_of(const rung_event *event)
{
    return ((const rungi_cuda_event *)event)->event_pair;
}

static rungi_cu_event start_event(const rungi_cuda_event_pair *event_pair)
{
    return event_pair->start_from ? event_pair->start_from->first : event_pair->first;
}

rung_status rungi_cuda_event_wait(rung_event *event)
{
    rungi_cuda_device *own = rungi_cuda_device_of(event->device);
    TRY(rungi_cuda_context_push(own));
    return rungi_cuda_context_leave(own, RUNGI_CUDA_CALL(own, EventSynchronize, event_pair_of(event)->last));
}

bool rungi_cuda_event_is_done(rung_event *event)
{
    enum { NOT_READY = 600 };
    rungi_cuda_device *own = rungi_cuda_device_of(event->device);
    rungi_saved_error before = rungi_error_save();
    bool done = true; /* failed work does not continue */
    if (rungi_cuda_context_push(own) == RUNG_OK) {
        done = own->cu->EventQuery(event_pair_of(event)->last) != NOT_READY;
        rungi_cuda_context_pop(own);
    }
    rungi_error_restore(&before);
    return done;
}

enum { INVALID_HANDLE = 400 };

/* Returns the nanoseconds between two events, 0 if they are in reverse order. */
static rung_status elapsed_nanoseconds(rungi_cuda_device *own, rungi_cu_event start, rungi_cu_event end,
                                       int64_t *nanoseconds)
{
    float milliseconds = 0;
    TRY(rungi_cuda_context_push(own));
    rungi_cu_result error = own->cu->EventElapsedTime(&milliseconds, start, end);
    rungi_cuda_context_pop(own);
    if (error == INVALID_HANDLE)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE: the event has no "
                                                   "time; create a wrapped event without CU_EVENT_DISABLE_TIMING");
    rung_status status = rungi_cuda_check(own, error, "cuEventElapsedTime");
    *nanoseconds = milliseconds > 0 ? (int64_t)((double)milliseconds * 1e6) : 0;
    return status;
}

rung_status rungi_cuda_event_time(rung_event *event, int64_t *nanoseconds)
{
    rungi_cuda_event_pair *event_pair = event_pair_of(event);
    *nanoseconds = 0;
    if (!event_pair->is_recorded)
        return RUNG_OK;
    return elapsed_nanoseconds(rungi_cuda_device_of(event->device), start_event(event_pair), event_pair->last,
                               nanoseconds);
}

rung_status rungi_cuda_event_span(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end)
{
    rungi_cuda_device *own = rungi_cuda_device_of(event->device);
    rungi_cuda_event_pair *event_pair = event_pair_of(event), *zero = event_pair_of(origin);
    *start = *end = 0;
    if (!event_pair->is_recorded || !zero->is_recorded)
        return RUNG_OK;
    TRY(elapsed_nanoseconds(own, zero->last, start_event(event_pair), start));
    return elapsed_nanoseconds(own, zero->last, event_pair->last, end);
}

/* Replaces a reference to an event pair, of an event or of the start of another pair. */
static void event_pair_set(rungi_cuda_device *own, rungi_cuda_event_pair **slot, rungi_cuda_event_pair *event_pair)
{
    rungi_cuda_event_pair *before = *slot;
    *slot = event_pair;
    event_pair_release(own, before);
}

rung_status rungi_cuda_event_copy(const rung_event *from, rung_event *to)
{
    rungi_cuda_device *own = rungi_cuda_device_of(to->device);
    rungi_cuda_event_pair *work = event_pair_of(from), *event_pair = event_pair_of(to);
    atomic_fetch_add(&work->references, 1);
    if (event_pair->owns_last) {
        event_pair_set(own, &((rungi_cuda_event *)to)->event_pair, work);
        return RUNG_OK;
    }
    event_pair_set(own, &event_pair->start_from, work);
    TRY(rungi_cuda_context_push(own));
    event_pair->is_recorded = true;
    return rungi_cuda_context_leave(own, RUNGI_CUDA_CALL(own, EventRecord, event_pair->last, work->stream));
}

void rungi_cuda_event_destroy(rung_event *event)
{
    event_pair_release(rungi_cuda_device_of(event->device), event_pair_of(event));
    rungi_release(event->device->context, event);
}

void *rungi_cuda_event_native(const rung_event *event)
{
    return event_pair_of(event)->last;
}

/* ---- Work ----------------------------------------------------------------------------------------- */

/* Returns the event pair to record. A pair that other events share is not changed, unless it is wrapped. */
static rung_status event_pair_make_unique(rungi_cuda_device *own, rungi_cuda_event *event)
{
    rungi_cuda_event_pair *fresh, *event_pair = event->event_pair;
    event_pair_set(own, &event_pair->start_from, NULL);
    if (atomic_load(&event_pair->references) == 1)
        return RUNG_OK;
    TRY(event_pair_create(own, event_pair->owns_last ? NULL : event_pair->last, &fresh));
    event_pair_set(own, &event->event_pair, fresh);
    return RUNG_OK;
}

/* Waits for the events of the options, and records the start of the event to signal. */
static rung_status record_start(rungi_cuda_device *own, rungi_cu_stream stream, const rung_run_options *options)
{
    rungi_cuda_event *signal = (rungi_cuda_event *)options->signal;
    for (int64_t i = 0; i < options->wait_count; i++)
        TRY(RUNGI_CUDA_CALL(own, StreamWaitEvent, stream, event_pair_of(options->wait[i])->last, 0));
    if (!signal)
        return RUNG_OK;
    TRY(event_pair_make_unique(own, signal));
    return RUNGI_CUDA_CALL(own, EventRecord, signal->event_pair->first, stream);
}

rung_status rungi_cuda_submit_begin(rung_queue *queue, const rung_run_options *options)
{
    rungi_cuda_device *own = device_of(queue);
    TRY(rungi_cuda_context_push(own));
    rung_status status = record_start(own, rungi_cuda_stream_of(queue), options);
    return status == RUNG_OK ? RUNG_OK : rungi_cuda_context_leave(own, status);
}

rung_status rungi_cuda_submit_end(rung_queue *queue, const rung_run_options *options, rung_status status)
{
    rungi_cuda_device *own = device_of(queue);
    if (status == RUNG_OK && options->signal) {
        rungi_cuda_event_pair *event_pair = event_pair_of(options->signal);
        event_pair->is_recorded = true;
        event_pair->stream = rungi_cuda_stream_of(queue);
        status = RUNGI_CUDA_CALL(own, EventRecord, event_pair->last, event_pair->stream);
    }
    return rungi_cuda_context_leave(own, status);
}
