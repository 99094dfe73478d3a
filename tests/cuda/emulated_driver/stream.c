/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - streams, each a queue in order. */
#include <stdint.h>

#include "emulated_driver.h"

cl_command_queue queue_new(void)
{
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_int error;
    return cl.CreateCommandQueueWithProperties(cl.context, cl.device, properties, &error);
}

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
    cl_command_queue queue = stream->queue;
    cl.RetainCommandQueue(queue);
    call_unlock();
    cl_int error = cl.Finish(queue);
    cl.ReleaseCommandQueue(queue);
    call_lock();
    return context_collect_error(here->context, error);
}

static CUresult stream_new(CUcontext context, unsigned flags, CUstream *out)
{
    if (!out || flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    cl_command_queue queue = queue_new();
    CUstream stream = queue ? object_new(STREAM, context, sizeof *stream) : NULL;
    if (!stream) {
        if (queue)
            cl.ReleaseCommandQueue(queue);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->queue = queue;
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

/* Returns at once; the queue goes when its work is done. */
CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuStreamDestroy_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !(object_is(STREAM, handle) && handle->base.context == here.context))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) {
        cl.Flush(handle->queue);
        object_destroy(&handle->base);
    }
    return call_end(&here, result);
}

/* Needs no current context but for the default streams. */
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
        result = of->sticky_error;
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
