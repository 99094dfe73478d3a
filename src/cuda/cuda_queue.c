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
    rung_status status = rungi_cuda_check(own, own->cu->StreamGetCtx(stream, &context), "cuStreamGetCtx");
    if (status == RUNG_OK && context != own->context)
        return rungi_fail(RUNG_STATUS_INVALID, "the wrapped CUstream belongs to another CUcontext than the device");
    return status;
}

static rung_status set_stream(rungi_cuda_device *own, void *native, rungi_cuda_queue *queue)
{
    queue->stream = native;
    queue->is_owned = !native;
    if (native)
        return check_stream(own, native);
    rung_status status = rungi_cuda_check(own, own->cu->StreamCreate(&queue->stream, RUNGI_CU_STREAM_NON_BLOCKING),
                                          "cuStreamCreate");
    if (status == RUNG_OK)
        rungi_cu_track(own->cu, RUNGI_CU_STREAM, 1);
    return status;
}

rung_status rungi_cuda_queue_create(rung_device *device, void *native, rung_queue **queue)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cuda_queue *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cuda_context_push(own);
    if (status == RUNG_OK) {
        status = set_stream(own, native, made);
        rungi_cuda_context_pop(own);
    }
    if (status != RUNG_OK) {
        rungi_release(device->context, made);
        return status;
    }
    *queue = &made->base;
    return RUNG_OK;
}

rung_status rungi_cuda_queue_finish(rung_queue *queue)
{
    rungi_cuda_device *own = device_of(queue);
    TRY(rungi_cuda_context_push(own));
    rung_status status = rungi_cuda_check(own, own->cu->StreamSynchronize(((rungi_cuda_queue *)queue)->stream),
                                          "cuStreamSynchronize");
    rungi_cuda_context_pop(own);
    return status;
}

void rungi_cuda_queue_destroy(rung_queue *queue)
{
    rungi_cuda_device *own = device_of(queue);
    rungi_cuda_queue *cuda_queue = (rungi_cuda_queue *)queue;
    if (cuda_queue->is_owned) {
        if (rungi_cuda_context_push_for_release(own)) {
            own->cu->StreamDestroy(cuda_queue->stream);
            rungi_cuda_context_pop(own);
        }
        rungi_cu_track(own->cu, RUNGI_CU_STREAM, -1);
    }
    rungi_release(queue->device->context, queue);
}

void *rungi_cuda_queue_native(const rung_queue *queue)
{
    return ((const rungi_cuda_queue *)queue)->stream;
}

bool rungi_cuda_queue_is_captured(const rung_queue *queue)
{
    rungi_cuda_device *own = device_of(queue);
    unsigned int status = 0;
    if (!rungi_cuda_context_push_for_release(own)) /* the next submission reports the failure */
        return false;
    bool known = own->cu->StreamIsCapturing(((const rungi_cuda_queue *)queue)->stream, &status) == 0;
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
    rung_status status = rungi_cuda_check(own, own->cu->EventCreate(event, RUNGI_CU_EVENT_DEFAULT), "cuEventCreate");
    if (status == RUNG_OK)
        rungi_cu_track(own->cu, RUNGI_CU_EVENT, 1);
    else
        *event = NULL;
    return status;
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
    if (status != RUNG_OK) {
        event_pair_release(own, made);
        return status;
    }
    *event_pair = made;
    return RUNG_OK;
}

rung_status rungi_cuda_event_create(rung_device *device, void *native, rung_event **event)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cuda_event *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cuda_context_push(own);
    if (status == RUNG_OK) {
        status = event_pair_create(own, native, &made->event_pair);
        rungi_cuda_context_pop(own);
    }
    if (status != RUNG_OK) {
        rungi_release(device->context, made);
        return status;
    }
    *event = &made->base;
    return RUNG_OK;
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
    rung_status status = rungi_cuda_check(own, own->cu->EventSynchronize(event_pair_of(event)->last),
                                          "cuEventSynchronize");
    rungi_cuda_context_pop(own);
    return status;
}

bool rungi_cuda_event_is_done(rung_event *event)
{
    enum { NOT_READY = 600 };
    rungi_cuda_device *own = rungi_cuda_device_of(event->device);
    rungi_saved_error before;
    rungi_error_save(&before);
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
    return event_pair->is_recorded ? elapsed_nanoseconds(rungi_cuda_device_of(event->device), start_event(event_pair),
                                                         event_pair->last, nanoseconds)
                                   : RUNG_OK;
}

rung_status rungi_cuda_event_span(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end)
{
    rungi_cuda_device *own = rungi_cuda_device_of(event->device);
    rungi_cuda_event_pair *event_pair = event_pair_of(event), *zero = event_pair_of(origin);
    *start = *end = 0;
    if (!event_pair->is_recorded || !zero->is_recorded)
        return RUNG_OK;
    rung_status status = elapsed_nanoseconds(own, zero->last, start_event(event_pair), start);
    return status == RUNG_OK ? elapsed_nanoseconds(own, zero->last, event_pair->last, end) : status;
}

static void event_pair_set(rungi_cuda_device *own, rungi_cuda_event *event, rungi_cuda_event_pair *event_pair)
{
    rungi_cuda_event_pair *before = event->event_pair;
    event->event_pair = event_pair;
    event_pair_release(own, before);
}

/* Lets the event share the event pair of the work. */
static void event_pair_start_from(rungi_cuda_device *own, rungi_cuda_event_pair *event_pair,
                                  rungi_cuda_event_pair *work)
{
    rungi_cuda_event_pair *before = event_pair->start_from;
    event_pair->start_from = work;
    event_pair_release(own, before);
}

rung_status rungi_cuda_event_copy(const rung_event *from, rung_event *to)
{
    rungi_cuda_device *own = rungi_cuda_device_of(to->device);
    rungi_cuda_event_pair *work = event_pair_of(from), *event_pair = event_pair_of(to);
    atomic_fetch_add(&work->references, 1);
    if (event_pair->owns_last) {
        event_pair_set(own, (rungi_cuda_event *)to, work);
        return RUNG_OK;
    }
    event_pair_start_from(own, event_pair, work);
    TRY(rungi_cuda_context_push(own));
    event_pair->is_recorded = true;
    rung_status status = rungi_cuda_check(own, own->cu->EventRecord(event_pair->last, work->stream), "cuEventRecord");
    rungi_cuda_context_pop(own);
    return status;
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
    event_pair_start_from(own, event_pair, NULL);
    if (atomic_load(&event_pair->references) == 1)
        return RUNG_OK;
    rung_status status = event_pair_create(own, event_pair->owns_last ? NULL : event_pair->last, &fresh);
    if (status == RUNG_OK)
        event_pair_set(own, event, fresh);
    return status;
}

rung_status rungi_cuda_submit_begin(rung_queue *queue, const rung_run_options *options)
{
    rungi_cuda_device *own = device_of(queue);
    rungi_cu_stream stream = ((rungi_cuda_queue *)queue)->stream;
    rung_status status = RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < options->wait_count; i++)
        status = rungi_cuda_check(own, own->cu->StreamWaitEvent(stream, event_pair_of(options->wait[i])->last, 0),
                                  "cuStreamWaitEvent");
    if (status != RUNG_OK || !options->signal)
        return status;
    rungi_cuda_event *signal = (rungi_cuda_event *)options->signal;
    status = event_pair_make_unique(own, signal);
    if (status == RUNG_OK)
        status = rungi_cuda_check(own, own->cu->EventRecord(signal->event_pair->first, stream), "cuEventRecord");
    return status;
}

rung_status rungi_cuda_submit_end(rung_queue *queue, const rung_run_options *options)
{
    rungi_cuda_device *own = device_of(queue);
    if (!options->signal)
        return RUNG_OK;
    rungi_cuda_event_pair *event_pair = event_pair_of(options->signal);
    event_pair->is_recorded = true;
    event_pair->stream = ((rungi_cuda_queue *)queue)->stream;
    return rungi_cuda_check(own, own->cu->EventRecord(event_pair->last, event_pair->stream), "cuEventRecord");
}
