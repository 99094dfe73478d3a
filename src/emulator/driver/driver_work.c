/* SPDX-License-Identifier: Apache-2.0 */
/* driver_work.c - work of streams and graphs: launches, host functions, copies, frees, signals and waits. */
#include <stdlib.h>

#include "emulator/driver/driver.h"

driver_work_t *work_new(work_kind_t kind)
{
    driver_work_t *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    work->kind = kind;
    atomic_init(&work->references, 1);
    return work;
}

void work_release(driver_work_t *work)
{
    if (atomic_fetch_sub(&work->references, 1) > 1)
        return;
    if (work->code)
        gpu_code_release(work->code);
    marker_release(work->marker);
    free(work->arguments);
    free(work);
}

CUresult work_enqueue(CUstream stream, driver_work_t *work)
{
    /* The module may have been unloaded after the capture, and another function may have the old one's address. */
    bool is_loaded = work->kind != LAUNCH ||
                     (object_is(FUNCTION, work->function) && work->function->module->code == work->code);
    if (!is_loaded)
        return CUDA_ERROR_INVALID_HANDLE;
    atomic_fetch_add(&work->references, 1);
    return queue_add(stream->queue, work);
}

CUresult work_submit(CUstream stream, driver_work_t *work)
{
    if (!stream->capture)
        return queue_add(stream->queue, work);
    if (stream->capture->invalid) {
        work_release(work);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    recording_add(stream->capture->recording, work);
    return CUDA_SUCCESS;
}

CUresult work_execute(const driver_work_t *work)
{
    switch (work->kind) {
    case LAUNCH: return gpu_launch(work);
    case HOST_FUNCTION: work->host(work->user); break;
    case STREAM_CALLBACK: work->callback(work->stream, CUDA_SUCCESS, work->user); break;
    case COPY: return gpu_copy(&work->copy);
    case FILL: return gpu_fill(&work->fill);
    case FREE_MEMORY: gpu_free(work->device); break;
    case SIGNAL: break; /* by its queue */
    case WAIT: marker_wait(work->marker); break;
    }
    return CUDA_SUCCESS;
}
