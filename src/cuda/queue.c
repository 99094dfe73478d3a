/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - streams and events of CUDA, our own or the caller's. */
#include "cuda/device.h"

#include "core/assert.h"

static rungi_cuda_device *device_of(const rung_queue *queue)
{
    return rungi_cuda_device_of(queue->device);
}

/* ---- Queues -------------------------------------------------------------------------------------- */

/* The default streams, 0x1 and 0x2, are of whichever context is current. */
static rung_status check_stream(rungi_cuda_device *own, rungi_cu_stream stream)
{
    rungi_cu_context context = NULL;
    if ((uintptr_t)stream <= 2)
        return RUNG_OK;
    rung_status status = rungi_cuda_check(own, own->cu->StreamGetCtx(stream, &context), "cuStreamGetCtx");
    if (status == RUNG_OK && context != own->context)
        return rungi_fail(RUNG_STATUS_INVALID, "the wrapped CUstream is of another CUcontext than the device");
    return status;
}

static rung_status set_stream(rungi_cuda_device *own, void *native, rungi_cuda_queue *queue)
{
    queue->stream = native;
    queue->is_ours = !native;
    if (native)
        return check_stream(own, native);
    rung_status status = rungi_cuda_check(own, own->cu->StreamCreate(&queue->stream, RUNGI_CU_STREAM_NON_BLOCKING),
                                          "cuStreamCreate");
    if (status == RUNG_OK)
        rungi_cu_count(own->cu, RUNGI_CU_STREAM, 1);
    return status;
}

rung_status rungi_cuda_queue_create(rung_device *device, void *native, rung_queue **queue)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cuda_queue *made = rungi_new(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cuda_enter(own);
    if (status == RUNG_OK) {
        status = set_stream(own, native, made);
        rungi_cuda_leave(own);
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
    rung_status status = rungi_cuda_enter(own);
    if (status != RUNG_OK)
        return status;
    status = rungi_cuda_check(own, own->cu->StreamSynchronize(((rungi_cuda_queue *)queue)->stream),
                              "cuStreamSynchronize");
    rungi_cuda_leave(own);
    return status;
}

void rungi_cuda_queue_destroy(rung_queue *queue)
{
    rungi_cuda_device *own = device_of(queue);
    rungi_cuda_queue *mine = (rungi_cuda_queue *)queue;
    if (mine->is_ours) {
        if (rungi_cuda_enter_to_release(own)) {
            own->cu->StreamDestroy(mine->stream);
            rungi_cuda_leave(own);
        }
        rungi_cu_count(own->cu, RUNGI_CU_STREAM, -1);
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
    if (!rungi_cuda_enter_to_release(own)) /* what is wrong is told where work is given */
        return false;
    bool known = own->cu->StreamIsCapturing(((const rungi_cuda_queue *)queue)->stream, &status) == 0;
    rungi_cuda_leave(own);
    return known && status != 0;
}

/* ---- Events -------------------------------------------------------------------------------------- */

static void destroy_event(rungi_cuda_device *own, rungi_cu_event event, bool entered)
{
    if (!event)
        return;
    if (entered)
        own->cu->EventDestroy(event);
    rungi_cu_count(own->cu, RUNGI_CU_EVENT, -1);
}

static void release_stamp(rungi_cuda_device *own, rungi_cuda_stamp *stamp)
{
    if (!stamp)
        return;
    int before = atomic_fetch_sub(&stamp->references, 1);
    RUNGI_ASSERT(before > 0);
    if (before != 1)
        return;
    bool entered = rungi_cuda_enter_to_release(own);
    destroy_event(own, stamp->first, entered);
    if (stamp->last_is_ours)
        destroy_event(own, stamp->last, entered);
    if (entered)
        rungi_cuda_leave(own);
    release_stamp(own, stamp->begun); /* one of ours, which has none */
    rungi_release(own->base.context, stamp);
}

static rung_status create_event(rungi_cuda_device *own, rungi_cu_event *event)
{
    rung_status status = rungi_cuda_check(own, own->cu->EventCreate(event, RUNGI_CU_EVENT_DEFAULT), "cuEventCreate");
    if (status == RUNG_OK)
        rungi_cu_count(own->cu, RUNGI_CU_EVENT, 1);
    else
        *event = NULL;
    return status;
}

/* The context is entered. A caller's event is the later moment. */
static rung_status make_stamp(rungi_cuda_device *own, void *native, rungi_cuda_stamp **stamp)
{
    rungi_cuda_stamp *made = rungi_new(own->base.context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    atomic_init(&made->references, 1);
    made->last = native;
    made->last_is_ours = !native;
    rung_status status = create_event(own, &made->first);
    if (status == RUNG_OK && !native)
        status = create_event(own, &made->last);
    if (status != RUNG_OK) {
        release_stamp(own, made);
        return status;
    }
    *stamp = made;
    return RUNG_OK;
}

rung_status rungi_cuda_event_create(rung_device *device, void *native, rung_event **event)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cuda_event *made = rungi_new(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cuda_enter(own);
    if (status == RUNG_OK) {
        status = make_stamp(own, native, &made->stamp);
        rungi_cuda_leave(own);
    }
    if (status != RUNG_OK) {
        rungi_release(device->context, made);
        return status;
    }
    *event = &made->base;
    return RUNG_OK;
}

static rungi_cuda_stamp *stamp_of(const rung_event *event)
{
    return ((const rungi_cuda_event *)event)->stamp;
}

static rungi_cu_event first_of(const rungi_cuda_stamp *stamp)
{
    return stamp->begun ? stamp->begun->first : stamp->first;
}

rung_status rungi_cuda_event_wait(rung_event *event)
{
    rungi_cuda_device *own = rungi_cuda_device_of(event->device);
    rung_status status = rungi_cuda_enter(own);
    if (status != RUNG_OK)
        return status;
    status = rungi_cuda_check(own, own->cu->EventSynchronize(stamp_of(event)->last), "cuEventSynchronize");
    rungi_cuda_leave(own);
    return status;
}

bool rungi_cuda_event_is_done(rung_event *event)
{
    enum { NOT_READY = 600 };
    rungi_cuda_device *own = rungi_cuda_device_of(event->device);
    rungi_error before;
    rungi_error_save(&before);
    bool done = true; /* what failed comes to no more */
    if (rungi_cuda_enter(own) == RUNG_OK) {
        done = own->cu->EventQuery(stamp_of(event)->last) != NOT_READY;
        rungi_cuda_leave(own);
    }
    rungi_error_restore(&before);
    return done;
}

enum { INVALID_HANDLE = 400 };

/* Nanoseconds from one moment to another, 0 where they stand in the other order. */
static rung_status between(rungi_cuda_device *own, rungi_cu_event start, rungi_cu_event end, int64_t *nanoseconds)
{
    float milliseconds = 0;
    rung_status status = rungi_cuda_enter(own);
    if (status != RUNG_OK)
        return status;
    rungi_cu_result error = own->cu->EventElapsedTime(&milliseconds, start, end);
    rungi_cuda_leave(own);
    if (error == INVALID_HANDLE)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE: the event tells no "
                                                   "time; a wrapped one must be made without CU_EVENT_DISABLE_TIMING");
    status = rungi_cuda_check(own, error, "cuEventElapsedTime");
    *nanoseconds = milliseconds > 0 ? (int64_t)((double)milliseconds * 1e6) : 0;
    return status;
}

rung_status rungi_cuda_event_time(rung_event *event, int64_t *nanoseconds)
{
    rungi_cuda_stamp *stamp = stamp_of(event);
    *nanoseconds = 0;
    return stamp->recorded ? between(rungi_cuda_device_of(event->device), first_of(stamp), stamp->last, nanoseconds)
                           : RUNG_OK;
}

rung_status rungi_cuda_event_span(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end)
{
    rungi_cuda_device *own = rungi_cuda_device_of(event->device);
    rungi_cuda_stamp *stamp = stamp_of(event), *zero = stamp_of(origin);
    *start = *end = 0;
    if (!stamp->recorded || !zero->recorded)
        return RUNG_OK;
    rung_status status = between(own, zero->last, first_of(stamp), start);
    return status == RUNG_OK ? between(own, zero->last, stamp->last, end) : status;
}

static void set_stamp(rungi_cuda_device *own, rungi_cuda_event *event, rungi_cuda_stamp *stamp)
{
    rungi_cuda_stamp *before = event->stamp;
    event->stamp = stamp;
    release_stamp(own, before);
}

/* Takes the work's stamp over. */
static void begin_with(rungi_cuda_device *own, rungi_cuda_stamp *stamp, rungi_cuda_stamp *work)
{
    rungi_cuda_stamp *before = stamp->begun;
    stamp->begun = work;
    release_stamp(own, before);
}

rung_status rungi_cuda_event_copy(const rung_event *from, rung_event *to)
{
    rungi_cuda_device *own = rungi_cuda_device_of(to->device);
    rungi_cuda_stamp *work = stamp_of(from), *stamp = stamp_of(to);
    atomic_fetch_add(&work->references, 1);
    if (stamp->last_is_ours) {
        set_stamp(own, (rungi_cuda_event *)to, work);
        return RUNG_OK;
    }
    begin_with(own, stamp, work);
    rung_status status = rungi_cuda_enter(own);
    if (status != RUNG_OK)
        return status;
    stamp->recorded = true;
    status = rungi_cuda_check(own, own->cu->EventRecord(stamp->last, work->stream), "cuEventRecord");
    rungi_cuda_leave(own);
    return status;
}

void rungi_cuda_event_destroy(rung_event *event)
{
    release_stamp(rungi_cuda_device_of(event->device), stamp_of(event));
    rungi_release(event->device->context, event);
}

void *rungi_cuda_event_native(const rung_event *event)
{
    return stamp_of(event)->last;
}

/* ---- Work ----------------------------------------------------------------------------------------- */

/* The stamp to write to: one that another event shares stays as it is, as far as it is
 * ours. */
static rung_status own_stamp(rungi_cuda_device *own, rungi_cuda_event *event)
{
    rungi_cuda_stamp *fresh, *stamp = event->stamp;
    begin_with(own, stamp, NULL);
    if (atomic_load(&stamp->references) == 1)
        return RUNG_OK;
    rung_status status = make_stamp(own, stamp->last_is_ours ? NULL : stamp->last, &fresh);
    if (status == RUNG_OK)
        set_stamp(own, event, fresh);
    return status;
}

rung_status rungi_cuda_begin(rung_queue *queue, const rung_run_options *options)
{
    rungi_cuda_device *own = device_of(queue);
    rungi_cu_stream stream = ((rungi_cuda_queue *)queue)->stream;
    rung_status status = RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < options->wait_count; i++)
        status = rungi_cuda_check(own, own->cu->StreamWaitEvent(stream, stamp_of(options->wait[i])->last, 0),
                                  "cuStreamWaitEvent");
    if (status != RUNG_OK || !options->signal)
        return status;
    rungi_cuda_event *signal = (rungi_cuda_event *)options->signal;
    status = own_stamp(own, signal);
    if (status == RUNG_OK)
        status = rungi_cuda_check(own, own->cu->EventRecord(signal->stamp->first, stream), "cuEventRecord");
    return status;
}

rung_status rungi_cuda_end(rung_queue *queue, const rung_run_options *options)
{
    rungi_cuda_device *own = device_of(queue);
    if (!options->signal)
        return RUNG_OK;
    rungi_cuda_stamp *stamp = stamp_of(options->signal);
    stamp->recorded = true;
    stamp->stream = ((rungi_cuda_queue *)queue)->stream;
    return rungi_cuda_check(own, own->cu->EventRecord(stamp->last, stamp->stream), "cuEventRecord");
}
