/* SPDX-License-Identifier: Apache-2.0 */
/* driver_context.c - contexts, the current context of each thread, and errors of contexts. */
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"

static CUcontext contexts; /* all that were ever created */

/* The stack of current contexts of a thread. */
enum { STACK_MAX = 64 };
static _Thread_local CUcontext stack[STACK_MAX];
static _Thread_local int depth;

CUcontext context_current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

bool context_is(CUcontext context)
{
    for (CUcontext at = contexts; at; at = at->next)
        if (at == context)
            return true;
    return false;
}

long context_count(void)
{
    long count = 0;
    for (CUcontext at = contexts; at; at = at->next)
        count += at->alive;
    return count;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

bool error_is_sticky(CUresult error)
{
    switch ((int)error) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE: return true;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
    case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
    case CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE:
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: return false;
    }
    return error >= 700 && error < 800;
}

void context_record_error(CUcontext context, CUresult error)
{
    if (context && context->alive && !context->sticky_error && error_is_sticky(error))
        context->sticky_error = error;
}

void context_record_async_error(CUcontext context, CUresult error)
{
    unsigned none = CUDA_SUCCESS;
    atomic_compare_exchange_strong(&context->pending, &none, (unsigned)error);
}

CUresult context_collect_error(CUcontext context)
{
    if (!context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = (CUresult)atomic_load(&context->pending);
    context_record_error(context, result); /* before the pending error is cleared: queues look at both */
    atomic_store(&context->pending, CUDA_SUCCESS);
    unsigned sticky = atomic_load(&context->sticky_error);
    return sticky ? (CUresult)sticky : result;
}

/* ---- Waiting ------------------------------------------------------------------- */

CUresult context_finish(CUcontext context)
{
    call_unlock();
    queue_finish_all(context);
    call_lock();
    return context_collect_error(context);
}

void context_finish_all(void)
{
    for (CUcontext at = contexts; at; at = at->next)
        if (at->alive)
            context_finish(at);
}

/* ---- Creating and destroying ----------------------------------------------------------------------- */

static CUcontext context_new(CUdevice device)
{
    CUcontext context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->device = device;
    context->main.base = (driver_object_t){.kind = STREAM, .context = context};
    context->next = contexts;
    contexts = context;
    return context;
}

/* The emulator starts here and not in cuInit, which NVRTC calls, too. */
static CUresult context_start(CUcontext context)
{
    CUresult result = gpu_open();
    if (result != CUDA_SUCCESS)
        return result;
    context->main.queue = queue_new(context);
    if (!context->main.queue)
        return CUDA_ERROR_OUT_OF_MEMORY;
    context->alive = true;
    context->pending = CUDA_SUCCESS;
    context->sticky_error = CUDA_SUCCESS;
    return CUDA_SUCCESS;
}

/* Destroys the objects of a context, whose work is done. */
static void context_end(CUcontext context)
{
    object_destroy_all(context);
    queue_release(context->main.queue);
    context->main.queue = NULL;
    context->alive = false;
    context->references = 0;
    if (context_count() == 0)
        gpu_close();
}

static CUcontext primary_of(CUdevice device)
{
    for (CUcontext at = contexts; at; at = at->next)
        if (at->is_primary && at->device == device)
            return at;
    CUcontext context = context_new(device);
    if (context)
        context->is_primary = true;
    return context;
}

static bool is_device(CUdevice device)
{
    return device >= 0 && device < emulated_device_count();
}

static CUresult retain_primary(CUdevice device, CUcontext *out)
{
    CUcontext context = primary_of(device);
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = context->alive ? CUDA_SUCCESS : context_start(context);
    if (result != CUDA_SUCCESS)
        return result;
    context->references++;
    *out = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDevicePrimaryCtxRetain", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !context)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = is_device(device) ? retain_primary(device, context) : CUDA_ERROR_INVALID_DEVICE;
    return call_end(&here, result);
}

static CUresult release_primary(CUdevice device)
{
    CUcontext context = primary_of(device);
    if (!context || !context->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    /* Another thread may retain the context during the wait. */
    if (context->references == 1)
        context_finish(context);
    if (context->alive && --context->references == 0)
        context_end(context);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDevicePrimaryCtxRelease_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = is_device(device) ? release_primary(device) : CUDA_ERROR_INVALID_DEVICE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDevicePrimaryCtxReset_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !is_device(device))
        result = CUDA_ERROR_INVALID_DEVICE;
    CUcontext context = result == CUDA_SUCCESS ? primary_of(device) : NULL;
    if (context && context->alive) {
        context_finish(context);
        if (context->alive)
            context_end(context);
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDevicePrimaryCtxSetFlags_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !is_device(device))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS && flags > CU_CTX_FLAGS_MASK)
        result = CUDA_ERROR_INVALID_VALUE;
    CUcontext context = result == CUDA_SUCCESS ? primary_of(device) : NULL;
    if (context)
        context->flags = flags;
    return call_end(&here, result);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDevicePrimaryCtxGetState", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !is_device(device))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS && (!flags || !active))
        result = CUDA_ERROR_INVALID_VALUE;
    CUcontext context = result == CUDA_SUCCESS ? primary_of(device) : NULL;
    if (context) {
        *flags = context->flags;
        *active = context->alive;
    }
    return call_end(&here, result);
}

/* ---- The stack ------------------------------------------------------------------------------- */

static CUresult push(CUcontext context)
{
    if (depth == STACK_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuCtxCreate_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !is_device(device))
        result = CUDA_ERROR_INVALID_DEVICE;
    CUcontext context = result == CUDA_SUCCESS ? context_new(device) : NULL;
    if (context)
        context->flags = flags;
    if (result == CUDA_SUCCESS)
        result = context ? context_start(context) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = push(context);
    if (result == CUDA_SUCCESS)
        *out = context;
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext context)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuCtxDestroy_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!context_is(context) || !context->alive || context->is_primary))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS) {
        context_finish(context);
        if (context->alive)
            context_end(context);
        if (context_current() == context)
            depth--;
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuCtxPushCurrent_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = context_is(context) && context->alive ? push(context) : CUDA_ERROR_INVALID_CONTEXT;
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *out)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuCtxPopCurrent_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS && depth == 0)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS) {
        depth--;
        if (out)
            *out = stack[depth];
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *out)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuCtxGetCurrent", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = context_current();
    return call_end(&here, result);
}

/* Replaces the top of the stack; NULL takes it off. */
CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuCtxSetCurrent", NEEDS_INIT);
    if (result == CUDA_SUCCESS && context && !(context_is(context) && context->alive))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS) {
        depth -= depth > 0;
        if (context)
            result = push(context);
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuCtxGetDevice", NEEDS_CONTEXT);
    if (result == CUDA_SUCCESS && !device)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *device = here.context->device;
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuCtxSynchronize", NEEDS_NO_STICKY_ERROR);
    driver_capture_t *capturing = result == CUDA_SUCCESS ? capture_in(here.context) : NULL;
    if (capturing)
        result = capture_invalidate(capturing);
    if (result == CUDA_SUCCESS)
        result = context_finish(here.context);
    return call_end(&here, result);
}
