/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - events, each the marker of its last record. */
#include "emulated_driver.h"

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

static CUresult record(CUevent event, CUstream stream)
{
    cl_event marker = NULL;
    event->capture = stream->capture;
    if (stream->capture)
        return stream->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    if (cl.EnqueueMarkerWithWaitList(stream->queue, 0, NULL, &marker) != CL_SUCCESS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    cl.Flush(stream->queue);
    if (event->marker)
        cl.ReleaseEvent(event->marker);
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

/* A stream that waits for an event of a capture joins the capture. What is recorded there
 * stands in the order of the calls, which no wait can contradict. */
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
    if (!event->marker)
        return CUDA_SUCCESS;
    if (cl.EnqueueBarrierWithWaitList(stream->queue, 1, &event->marker, NULL) != CL_SUCCESS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    cl.Flush(stream->queue);
    return CUDA_SUCCESS;
}

/* The event may be of another context, and so of another device. */
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

/* ---- Asking and waiting on the host ------------------------------------------------------------ */

static cl_int status_of(cl_event marker)
{
    cl_int status = CL_QUEUED;
    cl.GetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status;
}

static CUresult query(CUcontext context, CUevent event)
{
    if (event->capture)
        return capture_invalidate(event->capture);
    cl_int status = event->marker ? status_of(event->marker) : CL_COMPLETE;
    if (status > CL_COMPLETE)
        return CUDA_ERROR_NOT_READY;
    return context_collect_error(context, status);
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
    cl_event marker = event->marker;
    if (event->capture)
        return capture_invalidate(event->capture);
    if (!marker)
        return context_collect_error(here->context, CL_SUCCESS);
    cl.RetainEvent(marker);
    call_unlock();
    cl_int error = cl.WaitForEvents(1, &marker);
    cl.ReleaseEvent(marker);
    call_lock();
    return context_collect_error(here->context, error);
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
    cl_ulong from = 0, to = 0;
    if (start->capture || end->capture)
        return capture_invalidate(start->capture ? start->capture : end->capture);
    if (!start->marker || !end->marker || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    if (status_of(start->marker) > CL_COMPLETE || status_of(end->marker) > CL_COMPLETE)
        return CUDA_ERROR_NOT_READY;
    if (cl.GetEventProfilingInfo(start->marker, CL_PROFILING_COMMAND_END, sizeof from, &from, NULL) != CL_SUCCESS ||
        cl.GetEventProfilingInfo(end->marker, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL) != CL_SUCCESS)
        return CUDA_ERROR_UNKNOWN;
    *milliseconds = (float)((double)((long long)(to - from)) * 1e-6);
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
