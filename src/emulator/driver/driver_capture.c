/* SPDX-License-Identifier: Apache-2.0 */
/* driver_capture.c - captures of streams, which become graphs.
 *
 * A recording is a list of work in the order of the calls. A GPU may run independent work of a graph concurrently; the
 * order of the calls is one of the allowed orders. */
#include <stdlib.h>

#include "emulator/driver/driver.h"

struct driver_recording {
    int references;
    driver_work_t *first, **end;
};

static driver_capture_t *captures; /* that have not ended */

/* ---- Recordings --------------------------------------------------------------------------------- */

static driver_recording_t *recording_new(void)
{
    driver_recording_t *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->references = 1;
    made->end = &made->first;
    return made;
}

void recording_add(driver_recording_t *recording, driver_work_t *work)
{
    *recording->end = work;
    recording->end = &work->next;
}

void recording_release(driver_recording_t *recording)
{
    if (--recording->references > 0)
        return;
    for (driver_work_t *at = recording->first, *next; at; at = next) {
        next = at->next;
        work_release(at);
    }
    free(recording);
}

driver_work_t *recording_take(driver_recording_t *recording)
{
    driver_work_t *first = recording->first;
    recording->first = NULL;
    recording->end = &recording->first;
    return first;
}

/* ---- Captures ----------------------------------------------------------------------------------- */

driver_capture_t *capture_in(CUcontext context)
{
    for (driver_capture_t *at = captures; at; at = at->next)
        if (at->origin->base.context == context)
            return at;
    return NULL;
}

CUresult capture_invalidate(driver_capture_t *capture)
{
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* A global capture forbids unsafe calls in every thread, a thread-local one in its thread, a relaxed one in none. */
CUresult capture_forbid(void)
{
    CUresult result = CUDA_SUCCESS;
    for (driver_capture_t *at = captures; at; at = at->next) {
        bool own = pthread_equal(at->thread, pthread_self());
        if (at->mode == CU_STREAM_CAPTURE_MODE_GLOBAL || (at->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && own))
            result = capture_invalidate(at);
    }
    return result;
}

/* Removes a capture from its streams and events, and frees it. */
static void forget(driver_capture_t *capture)
{
    for (driver_object_t *at = object_next(NULL, NULL, STREAM); at; at = object_next(at, NULL, STREAM))
        if (((CUstream)at)->capture == capture)
            ((CUstream)at)->capture = NULL;
    for (driver_object_t *at = object_next(NULL, NULL, EVENT); at; at = object_next(at, NULL, EVENT))
        if (((CUevent)at)->capture == capture)
            ((CUevent)at)->capture = NULL;
    struct driver_capture **at = &captures;
    while (*at && *at != capture)
        at = &(*at)->next;
    if (*at)
        *at = capture->next;
    free(capture);
}

void capture_remove_stream(CUstream stream)
{
    driver_capture_t *capture = stream->capture;
    if (!capture)
        return;
    capture->invalid = true;
    stream->capture = NULL;
    if (capture->origin == stream) {
        recording_release(capture->recording);
        forget(capture);
    }
}

static CUresult begin(CUstream stream, CUstreamCaptureMode mode)
{
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (stream == &stream->base.context->main)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    driver_capture_t *made = calloc(1, sizeof *made);
    driver_recording_t *recording = recording_new();
    if (!made || !recording) {
        free(made);
        free(recording);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (driver_capture_t){
        .origin = stream, .mode = mode, .thread = pthread_self(), .recording = recording, .next = captures};
    captures = made;
    stream->capture = made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuStreamBeginCapture_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS)
        result = begin(stream, mode);
    return call_end(&here, result);
}

static CUresult end(CUstream stream, CUgraph *out)
{
    driver_capture_t *capture = stream->capture;
    *out = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUgraph graph = capture->invalid ? NULL : graph_of_recording(capture->recording);
    CUresult result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_OUT_OF_MEMORY;
    recording_release(capture->recording);
    forget(capture);
    *out = graph;
    return graph ? CUDA_SUCCESS : result;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuStreamEndCapture", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !graph)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS)
        result = end(stream, graph);
    return call_end(&here, result);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuStreamIsCapturing", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !status)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS)
        *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                  : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                                           CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    CUresult result = cuStreamIsCapturing(handle, status);
    if (result == CUDA_SUCCESS && id)
        *id = *status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? 1 : 0;
    if (result == CUDA_SUCCESS && graph)
        *graph = NULL; /* the graph exists after the capture */
    if (result == CUDA_SUCCESS && dependencies)
        *dependencies = NULL;
    if (result == CUDA_SUCCESS && count)
        *count = 0;
    return result;
}

/* The mode of a thread decides which calls other captures forbid; calls are always judged by the mode of the capture. */
CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode old = current;
    current = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
