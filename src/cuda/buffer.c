/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.c - memory of a CUDA device, our own or the caller's, pinned memory of this
 * process, and copies between the two. */
#include "cuda/device.h"

static rungi_cu_stream stream_of(const rung_queue *queue)
{
    return ((const rungi_cuda_queue *)queue)->stream;
}

static rungi_cu_pointer pointer_of(const rung_buffer *buffer)
{
    return ((const rungi_cuda_buffer *)buffer)->pointer;
}

/* ---- Making ---------------------------------------------------------------------------------------- */

/* How many bytes the driver knows from there on. Memory that was mapped piece by piece is
 * known piece by piece. */
static rung_status known_bytes(rungi_cuda_device *own, rungi_cu_pointer pointer, int64_t wanted, int64_t *known)
{
    enum { NOT_FOUND = 500 };
    *known = 0;
    do {
        rungi_cu_pointer base = 0, at = pointer + (rungi_cu_pointer)*known;
        size_t size = 0;
        rungi_cu_result error = own->cu->MemGetAddressRange(&base, &size, at);
        if ((error == NOT_FOUND || error == 1) && *known > 0)
            return RUNG_OK;
        if (error == NOT_FOUND || error == 1)
            return rungi_fail(RUNG_STATUS_INVALID, "the wrapped CUdeviceptr is no memory of this CUcontext");
        if (error != 0)
            return rungi_cuda_check(own, error, "cuMemGetAddressRange");
        if (size <= at - base)
            return RUNG_OK;
        *known += (int64_t)(size - (size_t)(at - base));
    } while (*known < wanted);
    return RUNG_OK;
}

static rung_status wrap(rungi_cuda_device *own, rungi_cu_pointer native, int64_t offset, int64_t bytes,
                        rungi_cuda_buffer *buffer)
{
    int64_t known;
    rung_status status = known_bytes(own, native, offset + bytes, &known);
    if (status == RUNG_OK && offset + bytes > known)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the wrapped CUdeviceptr has %lld bytes behind it; the buffer would end "
                          "at %lld",
                          (long long)known, (long long)offset + bytes);
    buffer->pointer = native + (rungi_cu_pointer)offset;
    return status;
}

static rung_status allocate(rungi_cuda_device *own, rung_queue *queue, int64_t bytes, rungi_cuda_buffer *buffer)
{
    rung_status status;
    if (queue)
        status = rungi_cuda_check(own, own->cu->MemAllocAsync(&buffer->pointer, (size_t)bytes, stream_of(queue)),
                                  "cuMemAllocAsync");
    else
        status = rungi_cuda_check(own, own->cu->MemAlloc(&buffer->pointer, (size_t)bytes), "cuMemAlloc");
    if (status != RUNG_OK)
        return rungi_fail_in(status, "%lld bytes on %s", (long long)bytes, own->base.info.name);
    buffer->is_ours = true;
    buffer->ordered_on = (rungi_cuda_queue *)queue;
    rungi_cu_count(own->cu, RUNGI_CU_MEMORY, 1);
    return RUNG_OK;
}

/* With a native pointer, on a queue, or plainly. */
static rung_status make_buffer(rung_device *device, rung_queue *queue, void *native, int64_t offset, int64_t bytes,
                               rung_buffer **buffer)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cuda_buffer *made = rungi_new(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cuda_enter(own);
    if (status == RUNG_OK) {
        if (native)
            status = wrap(own, (rungi_cu_pointer)(uintptr_t)native, offset, bytes, made);
        else if (bytes > 0)
            status = allocate(own, queue, bytes, made);
        rungi_cuda_leave(own);
    }
    if (status != RUNG_OK) {
        rungi_release(device->context, made);
        return status;
    }
    /* Addresses of one context are all of one space. */
    made->base.space = made->pointer ? (void *)own->context : (void *)made;
    made->base.place = (uintptr_t)made->pointer;
    *buffer = &made->base;
    return RUNG_OK;
}

rung_status rungi_cuda_buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                     rung_buffer **buffer)
{
    return make_buffer(device, NULL, native, offset, bytes, buffer);
}

rung_status rungi_cuda_buffer_create_on(rung_queue *queue, int64_t bytes, rung_buffer **buffer)
{
    bool can = rungi_cuda_device_of(queue->device)->has_pools;
    return make_buffer(queue->device, can ? queue : NULL, NULL, 0, bytes, buffer);
}

void rungi_cuda_buffer_destroy(rung_buffer *buffer)
{
    rungi_cuda_device *own = rungi_cuda_device_of(buffer->device);
    rungi_cuda_buffer *mine = (rungi_cuda_buffer *)buffer;
    if (mine->is_ours) {
        if (rungi_cuda_enter_to_release(own)) {
            /* cuMemFree waits for work that is under way. */
            if (mine->ordered_on)
                own->cu->MemFreeAsync(mine->pointer, mine->ordered_on->stream);
            else
                own->cu->MemFree(mine->pointer);
            rungi_cuda_leave(own);
        }
        rungi_cu_count(own->cu, RUNGI_CU_MEMORY, -1);
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
    rung_status status = rungi_cuda_enter(own);
    if (status != RUNG_OK)
        return status;
    status = rungi_cuda_check(own, own->cu->MemHostAlloc(memory, (size_t)bytes, 0), "cuMemHostAlloc");
    rungi_cuda_leave(own);
    if (status == RUNG_OK)
        rungi_cu_count(own->cu, RUNGI_CU_HOST_MEMORY, 1);
    return status;
}

void rungi_cuda_host_release(rung_device *device, void *memory, void *handle)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    (void)handle;
    if (!memory)
        return;
    if (rungi_cuda_enter_to_release(own)) {
        own->cu->MemFreeHost(memory);
        rungi_cuda_leave(own);
    }
    rungi_cu_count(own->cu, RUNGI_CU_HOST_MEMORY, -1);
}

/* ---- Copies ------------------------------------------------------------------------------------------- */

static rungi_cu_pointer address_of(const rung_buffer *buffer, int64_t offset)
{
    return pointer_of(buffer) + (rungi_cu_pointer)offset;
}

rung_status rungi_cuda_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                    const void *from, const rung_run_options *options)
{
    rungi_cuda_device *own = rungi_cuda_device_of(queue->device);
    rung_status status = rungi_cuda_enter(own);
    if (status != RUNG_OK)
        return status;
    status = rungi_cuda_begin(queue, options);
    if (status == RUNG_OK && bytes > 0)
        status = rungi_cuda_check(
            own, own->cu->MemcpyHtoDAsync(address_of(buffer, offset), from, (size_t)bytes, stream_of(queue)),
            "cuMemcpyHtoDAsync");
    if (status == RUNG_OK)
        status = rungi_cuda_end(queue, options);
    rungi_cuda_leave(own);
    return status;
}

rung_status rungi_cuda_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                   const rung_run_options *options)
{
    rungi_cuda_device *own = rungi_cuda_device_of(queue->device);
    rung_status status = rungi_cuda_enter(own);
    if (status != RUNG_OK)
        return status;
    status = rungi_cuda_begin(queue, options);
    if (status == RUNG_OK && bytes > 0)
        status = rungi_cuda_check(
            own, own->cu->MemcpyDtoHAsync(to, address_of(buffer, offset), (size_t)bytes, stream_of(queue)),
            "cuMemcpyDtoHAsync");
    if (status == RUNG_OK)
        status = rungi_cuda_end(queue, options);
    rungi_cuda_leave(own);
    return status;
}
