/* SPDX-License-Identifier: Apache-2.0 */
/* driver_event.c - events. An event is the marker of its last record. */
#include "emulator/driver/driver.h"

static CUresult event_of(CUcontext context, CUevent event)
{
    return object_is(EVENT, event) && event->base.context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuEventCreate", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && (!out || flags > 7))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        CUevent event = object_new(EVENT, here.context, sizeof *event);
        if (event) {
            event->flags = flags;
            *out = event;
        } else {
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuEventDestroy_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = event_of(here.context, event);
    if (result == CUDA_SUCCESS)
        object_destroy(&event->base);
    return call_end(&here, result);
}

/* ---- Recording and waiting in streams --------------------------------------------------------- */

static CUresult enqueue_marker(CUstream stream, work_kind_t kind, driver_marker_t *marker)
{
    driver_work_t *work = work_new(kind);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->marker = marker_retain(marker);
    return queue_add(stream->queue, work);
}

static CUresult record(CUevent event, CUstream stream)
{
    event->capture = stream->capture;
    if (stream->capture)
        return stream->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    driver_marker_t *marker = marker_new();
    CUresult result = marker ? enqueue_marker(stream, SIGNAL, marker) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        marker_release(marker);
        return result;
    }
    marker_release(event->marker);
    event->marker = marker;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuEventRecord", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = event_of(here.context, event);
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS)
        result = record(event, stream);
    return call_end(&here, result);
}

/* A stream that waits for an event of a capture joins the capture. Recorded work is in the order of the calls, which
 * satisfies every wait. */
static CUresult join(CUstream stream, CUevent event)
{
    if (stream->capture && stream->capture != event->capture)
        return event->capture ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (stream == &stream->base.context->main)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    stream->capture = event->capture;
    return CUDA_SUCCESS;
}

static CUresult wait_in_stream(CUstream stream, CUevent event)
{
    if (stream->capture || event->capture)
        return join(stream, event);
    return event->marker ? enqueue_marker(stream, WAIT, event->marker) : CUDA_SUCCESS;
}

/* The event may belong to another context, and so to another device. */
CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuStreamWaitEvent", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && flags > 1)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS && !object_is(EVENT, event))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = wait_in_stream(stream, event);
    return call_end(&here, result);
}

/* ---- Querying and waiting on the host ------------------------------------------------------------ */

static CUresult query(CUcontext context, CUevent event)
{
    if (event->capture)
        return capture_invalidate(event->capture);
    if (event->marker && marker_time(event->marker) == 0)
        return CUDA_ERROR_NOT_READY;
    return context_collect_error(context);
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuEventQuery", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = event_of(here.context, event);
    if (result == CUDA_SUCCESS)
        result = query(here.context, event);
    return call_end(&here, result);
}

static CUresult finish(driver_call_t *here, CUevent event)
{
    driver_marker_t *marker = event->marker;
    if (event->capture)
        return capture_invalidate(event->capture);
    if (!marker)
        return context_collect_error(here->context);
    marker_retain(marker);
    call_unlock();
    marker_wait(marker);
    marker_release(marker);
    call_lock();
    return context_collect_error(here->context);
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuEventSynchronize", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = event_of(here.context, event);
    if (result == CUDA_SUCCESS)
        result = finish(&here, event);
    return call_end(&here, result);
}

static CUresult elapsed(CUevent start, CUevent end, float *milliseconds)
{
    if (start->capture || end->capture)
        return capture_invalidate(start->capture ? start->capture : end->capture);
    if (!start->marker || !end->marker || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    int64_t from = marker_time(start->marker), to = marker_time(end->marker);
    if (from == 0 || to == 0)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((double)(to - from) * 1e-6);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuEventElapsedTime", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !milliseconds)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = event_of(here.context, start);
    if (result == CUDA_SUCCESS)
        result = event_of(here.context, end);
    if (result == CUDA_SUCCESS)
        result = elapsed(start, end, milliseconds);
    return call_end(&here, result);
}
