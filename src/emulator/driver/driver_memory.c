/* SPDX-License-Identifier: Apache-2.0 */
/* driver_memory.c - device memory, host memory, and copies between them. */
#include <stdint.h>
#include <stdlib.h>

#include "emulator/driver/driver.h"

enum { HOST_ALIGNMENT = 256 };

driver_memory_t *memory_containing(CUcontext context, CUdeviceptr address)
{
    for (driver_object_t *at = object_next(NULL, context, MEMORY); at; at = object_next(at, context, MEMORY)) {
        driver_memory_t *memory = (driver_memory_t *)at;
        if (address >= memory->address && address - memory->address <= memory->bytes)
            return memory;
    }
    return NULL;
}

/* Returns the allocation that begins at the address, or NULL. */
static driver_memory_t *memory_at(CUcontext context, object_kind_t kind, CUdeviceptr address)
{
    for (driver_object_t *at = object_next(NULL, context, kind); at; at = object_next(at, context, kind))
        if (((driver_memory_t *)at)->address == address)
            return (driver_memory_t *)at;
    return NULL;
}

/* ---- Device memory ---------------------------------------------------------------------- */

static bool has_room(CUcontext context, size_t bytes)
{
    size_t room = (size_t)emulated_gpu_current()->memory_mib << 20;
    for (driver_object_t *at = object_next(NULL, context, MEMORY); at; at = object_next(at, context, MEMORY))
        room -= ((driver_memory_t *)at)->bytes;
    return bytes <= room;
}

static CUresult allocate(CUcontext context, size_t bytes, CUdeviceptr *out)
{
    if (!out || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!has_room(context, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUdeviceptr address;
    CUresult result = gpu_allocate(bytes, &address);
    if (result != CUDA_SUCCESS)
        return result;
    driver_memory_t *memory = object_new(MEMORY, context, sizeof *memory);
    if (!memory) {
        gpu_free(address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory->address = address;
    memory->bytes = bytes;
    *out = address;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemAlloc_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = capture_forbid();
    if (result == CUDA_SUCCESS)
        result = allocate(here.context, bytes, out);
    return call_end(&here, result);
}

/* Frees memory after all work, unless the work made the context unusable. */
static CUresult free_waiting(driver_call_t *here, object_kind_t kind, CUdeviceptr address)
{
    if (!memory_at(here->context, kind, address))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = context_finish(here->context);
    if (!here->context->alive || here->context->sticky_error)
        return result;
    driver_memory_t *memory = memory_at(here->context, kind, address);
    if (memory)
        object_destroy(&memory->base);
    return result;
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemFree_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = capture_forbid();
    if (result == CUDA_SUCCESS)
        result = free_waiting(&here, MEMORY, address);
    return call_end(&here, result);
}

/* Allocates at once, which is earlier than needed. Memory nodes of graphs are not supported: the capture is invalidated. */
CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuMemAllocAsync", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !emulated_device_has_pools())
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS && stream->capture)
        result = capture_invalidate(stream->capture);
    if (result == CUDA_SUCCESS)
        result = allocate(here.context, bytes, out);
    return call_end(&here, result);
}

/* Frees memory after the earlier work of a stream. */
static CUresult free_in_order(CUstream stream, driver_memory_t *memory)
{
    driver_work_t *work = work_new(FREE_MEMORY);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->device = memory->address;
    CUresult result = queue_add(stream->queue, work);
    if (result != CUDA_SUCCESS)
        return result;
    memory->address = 0;
    object_destroy(&memory->base);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuMemFreeAsync", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !emulated_device_has_pools())
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS && stream->capture)
        result = capture_invalidate(stream->capture);
    driver_memory_t *memory = result == CUDA_SUCCESS ? memory_at(here.context, MEMORY, address) : NULL;
    if (result == CUDA_SUCCESS)
        result = memory ? free_in_order(stream, memory) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemGetAddressRange_v2", NEEDS_NO_STICKY_ERROR);
    driver_memory_t *memory = result == CUDA_SUCCESS ? memory_containing(here.context, address) : NULL;
    if (result == CUDA_SUCCESS && (!memory || address - memory->address == memory->bytes))
        result = CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS && base)
        *base = memory->address;
    if (result == CUDA_SUCCESS && bytes)
        *bytes = memory->bytes;
    return call_end(&here, result);
}

/* ---- Host memory ------------------------------------------------------------------------ */

static CUresult allocate_host(CUcontext context, size_t bytes, void **out)
{
    void *address = NULL;
    if (!out || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (posix_memalign(&address, HOST_ALIGNMENT, bytes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    driver_memory_t *memory = object_new(HOST_MEMORY, context, sizeof *memory);
    if (!memory) {
        free(address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory->address = (CUdeviceptr)(uintptr_t)address;
    memory->bytes = bytes;
    *out = address;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemHostAlloc", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && flags > 7)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = capture_forbid();
    if (result == CUDA_SUCCESS)
        result = allocate_host(here.context, bytes, out);
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemFreeHost(void *address)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemFreeHost", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = capture_forbid();
    if (result == CUDA_SUCCESS)
        result = free_waiting(&here, HOST_MEMORY, (CUdeviceptr)(uintptr_t)address);
    return call_end(&here, result);
}

/* ---- Copies ------------------------------------------------------------------------------------- */

/* The range must be inside of one allocation. */
static CUresult check_range(CUcontext context, CUdeviceptr address, size_t bytes)
{
    driver_memory_t *memory = memory_containing(context, address);
    if (!memory || bytes > memory->bytes - (address - memory->address))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Copies to the device from `from`, or from the device to `to`; the other one is NULL. */
static CUresult copy(CUcontext context, CUstream stream, CUdeviceptr device, void *to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return CUDA_SUCCESS;
    CUresult result = device && (to || from) ? check_range(context, device, bytes) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    driver_work_t *work = work_new(from ? COPY_TO_DEVICE : COPY_TO_HOST);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->device = device;
    work->to = to;
    work->from = from;
    work->bytes = bytes;
    return work_submit(stream, work);
}

static CUresult copy_in_stream(const char *symbol, CUdeviceptr device, void *to, const void *from, size_t bytes,
                               CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS)
        result = copy(here.context, stream, device, to, from, bytes);
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_in_stream("cuMemcpyHtoDAsync_v2", to, NULL, from, bytes, stream);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_in_stream("cuMemcpyDtoHAsync_v2", from, to, NULL, bytes, stream);
}

/* Copies in the default stream and waits. */
static CUresult copy_now(const char *symbol, CUdeviceptr device, void *to, const void *from, size_t bytes)
{
    driver_call_t here;
    CUresult result = call_begin(&here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = capture_forbid();
    if (result == CUDA_SUCCESS)
        result = copy(here.context, &here.context->main, device, to, from, bytes);
    if (result == CUDA_SUCCESS)
        result = stream_finish(&here, &here.context->main);
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_now("cuMemcpyHtoD_v2", to, NULL, from, bytes);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_now("cuMemcpyDtoH_v2", from, to, NULL, bytes);
}
