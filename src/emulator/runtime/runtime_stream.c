/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_stream.c - streams, events and captures. */
#include "emulator/runtime/runtime.h"

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    IN_CONTEXT(cuStreamCreate(stream, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    IN_CONTEXT(cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    IN_CONTEXT(cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    IN_CONTEXT(cuStreamDestroy_v2(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    IN_CONTEXT(cuStreamSynchronize(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    IN_CONTEXT(cuStreamQuery(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    IN_CONTEXT(cuStreamWaitEvent(stream, event, flags));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, CUstreamCallback callback, void *user, unsigned flags)
{
    IN_CONTEXT(cuStreamAddCallback(stream, callback, user, flags));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *address, size_t bytes, unsigned flags)
{
    IN_CONTEXT(cuStreamAttachMemAsync(stream, (CUdeviceptr)(uintptr_t)address, bytes, flags));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    IN_CONTEXT(cuStreamGetFlags(stream, flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    IN_CONTEXT(cuStreamGetPriority(stream, priority));
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    IN_CONTEXT(cuStreamGetId(stream, id));
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *out)
{
    CUcontext context = NULL;
    CUresult result = out ? runtime_begin() : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = cuStreamGetCtx(stream, &context);
    if (result == CUDA_SUCCESS)
        result = cuCtxPushCurrent_v2(context);
    if (result == CUDA_SUCCESS) {
        result = cuCtxGetDevice(out);
        cuCtxPopCurrent_v2(NULL);
    }
    return runtime_end(result);
}

/* Attributes change nothing but speed. */
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, int what, const void *value)
{
    (void)stream, (void)what;
    return value ? cudaSuccess : runtime_fail(cudaErrorInvalidValue);
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
    (void)to, (void)from;
    return cudaSuccess;
}

/* ---- Captures ----------------------------------------------------------------------------------------- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, CUstreamCaptureMode mode)
{
    IN_CONTEXT(cuStreamBeginCapture_v2(stream, mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    IN_CONTEXT(cuStreamEndCapture(stream, graph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, CUstreamCaptureStatus *status)
{
    IN_CONTEXT(cuStreamIsCapturing(stream, status));
}

static CUresult capture_info(cudaStream_t stream, CUstreamCaptureStatus *status, unsigned long long *id,
                             cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
{
    cuuint64_t number = 0;
    CUresult result = cuStreamGetCaptureInfo_v2(stream, status, &number, graph, dependencies, count);
    if (id)
        *id = number;
    return result;
}

#if RUNG_CUDART_MAJOR >= 13
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, CUstreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **dependencies, const void **edges,
                                     size_t *count)
{
    if (edges)
        *edges = NULL;
    IN_CONTEXT(capture_info(stream, status, id, graph, dependencies, count));
}
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, CUstreamCaptureStatus *status, unsigned long long *id)
{
    IN_CONTEXT(capture_info(stream, status, id, NULL, NULL, NULL));
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, CUstreamCaptureStatus *status, unsigned long long *id,
                                        cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
{
    IN_CONTEXT(capture_info(stream, status, id, graph, dependencies, count));
}
#endif

cudaError_t cudaThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    return runtime_end(cuThreadExchangeStreamCaptureMode(mode));
}

/* ---- Events --------------------------------------------------------------------------------------------- */

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    IN_CONTEXT(cuEventCreate(event, 0));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    IN_CONTEXT(cuEventCreate(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    IN_CONTEXT(cuEventDestroy_v2(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    IN_CONTEXT(cuEventRecord(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    IN_CONTEXT(cuEventRecordWithFlags(event, stream, flags));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    IN_CONTEXT(cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    IN_CONTEXT(cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    IN_CONTEXT(cuEventElapsedTime(milliseconds, start, end));
}
