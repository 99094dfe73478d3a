/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_buffer.c - buffers of a CUDA device, allocated or wrapped, pinned host memory, and copies between the two. */
#include "cuda/cuda_device.h"
#include "base/try.h"

static rungi_cu_pointer pointer_of(const rung_buffer *buffer)
{
    return ((const rungi_cuda_buffer *)buffer)->pointer;
}

/* ---- Creating -------------------------------------------------------------------------------------- */

/* Returns the number of bytes mapped from the address on. Memory that was mapped in several ranges is reported range by
 * range. */
static rung_status mapped_bytes(rungi_cuda_device *own, rungi_cu_pointer pointer, int64_t bytes_needed, int64_t *mapped)
{
    enum { NOT_FOUND = 500 };
    *mapped = 0;
    do {
        rungi_cu_pointer base = 0, at = pointer + (rungi_cu_pointer)*mapped;
        size_t size = 0;
        rungi_cu_result error = own->cu->MemGetAddressRange(&base, &size, at);
        if ((error == NOT_FOUND || error == 1) && *mapped > 0)
            return RUNG_OK;
        if (error == NOT_FOUND || error == 1)
            return rungi_invalid("the wrapped CUdeviceptr does not point to memory of this CUcontext");
        if (error != 0)
            return rungi_cuda_check(own, error, "cuMemGetAddressRange");
        if (size <= at - base)
            return RUNG_OK;
        *mapped += (int64_t)(size - (size_t)(at - base));
    } while (*mapped < bytes_needed);
    return RUNG_OK;
}

static rung_status wrap(rungi_cuda_device *own, rungi_cu_pointer native, int64_t offset, int64_t bytes,
                        rungi_cuda_buffer *buffer)
{
    int64_t mapped;
    TRY(mapped_bytes(own, native, offset + bytes, &mapped));
    if (offset + bytes > mapped)
        return rungi_invalid("the wrapped CUdeviceptr points to %lld bytes; the buffer would end at %lld",
                             (long long)mapped, (long long)offset + bytes);
    buffer->pointer = native + (rungi_cu_pointer)offset;
    return RUNG_OK;
}

static rung_status allocate(rungi_cuda_device *own, rung_queue *queue, int64_t bytes, rungi_cuda_buffer *buffer)
{
    rung_status status = queue ? RUNGI_CUDA_CALL(own, MemAllocAsync, &buffer->pointer, (size_t)bytes,
                                                 rungi_cuda_stream_of(queue))
                               : RUNGI_CUDA_CALL(own, MemAlloc, &buffer->pointer, (size_t)bytes);
    if (status != RUNG_OK)
        return rungi_fail_prepend(status, "%lld bytes on %s", (long long)bytes, own->base.info.name);
    buffer->is_owned = true;
    buffer->ordered_on = (rungi_cuda_queue *)queue;
    rungi_cu_track(own->cu, RUNGI_CU_MEMORY, 1);
    return RUNG_OK;
}

/* Wraps a pointer, or allocates memory in the order of a queue or at once. */
static rung_status set_memory(rungi_cuda_device *own, rung_queue *queue, void *native, int64_t offset, int64_t bytes,
                              rungi_cuda_buffer *buffer)
{
    TRY(rungi_cuda_context_push(own));
    rung_status status = RUNG_OK;
    if (native)
        status = wrap(own, (rungi_cu_pointer)(uintptr_t)native, offset, bytes, buffer);
    else if (bytes > 0)
        status = allocate(own, queue, bytes, buffer);
    return rungi_cuda_context_leave(own, status);
}

static rung_status make_buffer(rung_device *device, rung_queue *queue, void *native, int64_t offset, int64_t bytes,
                               rung_buffer **buffer)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cuda_buffer *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = set_memory(own, queue, native, offset, bytes, made);
    if (status != RUNG_OK) {
        rungi_release(device->context, made);
        return status;
    }
    /* All addresses of one context are in one address space. */
    made->base.address_space = made->pointer ? (void *)own->context : (void *)made;
    made->base.address = (uintptr_t)made->pointer;
    *buffer = &made->base;
    return RUNG_OK;
}

rung_status rungi_cuda_buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                     rung_buffer **buffer)
{
    return make_buffer(device, NULL, native, offset, bytes, buffer);
}

rung_status rungi_cuda_buffer_create_on_queue(rung_queue *queue, int64_t bytes, rung_buffer **buffer)
{
    bool can = rungi_cuda_device_of(queue->device)->has_pools;
    return make_buffer(queue->device, can ? queue : NULL, NULL, 0, bytes, buffer);
}

void rungi_cuda_buffer_destroy(rung_buffer *buffer)
{
    rungi_cuda_device *own = rungi_cuda_device_of(buffer->device);
    rungi_cuda_buffer *cuda_buffer = (rungi_cuda_buffer *)buffer;
    if (cuda_buffer->is_owned) {
        if (rungi_cuda_context_push_for_release(own)) {
            /* cuMemFree waits for work that is under way. */
            if (cuda_buffer->ordered_on)
                own->cu->MemFreeAsync(cuda_buffer->pointer, cuda_buffer->ordered_on->stream);
            else
                own->cu->MemFree(cuda_buffer->pointer);
            rungi_cuda_context_pop(own);
        }
        rungi_cu_track(own->cu, RUNGI_CU_MEMORY, -1);
    }
    rungi_release(buffer->device->context, buffer);
}

void *rungi_cuda_buffer_native(const rung_buffer *buffer)
{
    return (void *)(uintptr_t)(pointer_of(buffer) - (rungi_cu_pointer)buffer->offset);
}

/* ---- Pinned memory ----------------------------------------------------------------------------------- */

rung_status rungi_cuda_host_allocate(rung_device *device, int64_t bytes, void **memory, void **handle)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    *memory = *handle = NULL;
    TRY(rungi_cuda_context_push(own));
    rung_status status = rungi_cuda_context_leave(own, RUNGI_CUDA_CALL(own, MemHostAlloc, memory, (size_t)bytes, 0));
    if (status == RUNG_OK)
        rungi_cu_track(own->cu, RUNGI_CU_HOST_MEMORY, 1);
    return status;
}

void rungi_cuda_host_release(rung_device *device, void *memory, void *handle)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    (void)handle;
    if (!memory)
        return;
    if (rungi_cuda_context_push_for_release(own)) {
        own->cu->MemFreeHost(memory);
        rungi_cuda_context_pop(own);
    }
    rungi_cu_track(own->cu, RUNGI_CU_HOST_MEMORY, -1);
}

/* ---- Copies ------------------------------------------------------------------------------------------- */

rung_status rungi_cuda_buffer_copy(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                   const void *from, void *to, const rung_run_options *options)
{
    rungi_cuda_device *own = rungi_cuda_device_of(queue->device);
    rungi_cu_pointer address = pointer_of(buffer) + (rungi_cu_pointer)offset;
    rung_status status = RUNG_OK;
    TRY(rungi_cuda_submit_begin(queue, options));
    if (bytes > 0)
        status = from ? RUNGI_CUDA_CALL(own, MemcpyHtoDAsync, address, from, (size_t)bytes, rungi_cuda_stream_of(queue))
                      : RUNGI_CUDA_CALL(own, MemcpyDtoHAsync, to, address, (size_t)bytes, rungi_cuda_stream_of(queue));
    return rungi_cuda_submit_end(queue, options, status);
}
