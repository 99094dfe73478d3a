/* SPDX-License-Identifier: Apache-2.0 */
/* driver_stream.c - streams, each with a queue. */
#include <stdint.h>

#include "emulator/driver/driver.h"

CUresult stream_of(CUcontext context, CUstream handle, CUstream *stream)
{
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        *stream = &context->main;
        return CUDA_SUCCESS;
    }
    if (!object_is(STREAM, handle) || handle->base.context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    *stream = handle;
    return CUDA_SUCCESS;
}

CUresult stream_finish(driver_call_t *here, CUstream stream)
{
    driver_queue_t *queue = queue_retain(stream->queue);
    call_unlock();
    queue_finish(queue);
    queue_release(queue);
    call_lock();
    return context_collect_error(here->context);
}

/* A blocking stream waits for the legacy default stream, and the reverse: both share a queue, in which work runs in the
 * order of the calls. */
static CUresult stream_new(CUcontext context, unsigned flags, CUstream *out)
{
    if (!out || flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    driver_queue_t *queue = flags == CU_STREAM_NON_BLOCKING ? queue_new(context) : queue_retain(context->main.queue);
    CUstream stream = queue ? object_new(STREAM, context, sizeof *stream) : NULL;
    if (!stream) {
        if (queue)
            queue_release(queue);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->queue = queue;
    stream->flags = flags;
    *out = stream;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuStreamCreate", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = stream_new(here.context, flags, out);
    return call_end(&here, result);
}

/* Returns at once; the queue ends after its work. */
CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuStreamDestroy_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !(object_is(STREAM, handle) && handle->base.context == here.context))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        object_destroy(&handle->base);
    return call_end(&here, result);
}

/* Only the default streams need a current context. */
CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext *out)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuStreamGetCtx", NEEDS_INIT);
    CUcontext of = here.context;
    bool is_default = (uintptr_t)handle <= 2;
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !is_default)
        result = object_is(STREAM, handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && !is_default)
        of = handle->base.context;
    if (result == CUDA_SUCCESS && !of)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && of->sticky_error)
        result = (CUresult)of->sticky_error;
    if (result == CUDA_SUCCESS)
        *out = of;
    return call_end(&here, result);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuStreamSynchronize", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS && stream->capture)
        result = capture_invalidate(stream->capture);
    if (result == CUDA_SUCCESS)
        result = stream_finish(&here, stream);
    return call_end(&here, result);
}
