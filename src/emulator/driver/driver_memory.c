/* SPDX-License-Identifier: Apache-2.0 */
/* driver_memory.c - device memory and host memory. */
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

static size_t allocated_bytes(CUcontext context)
{
    size_t bytes = 0;
    for (driver_object_t *at = object_next(NULL, context, MEMORY); at; at = object_next(at, context, MEMORY))
        bytes += ((driver_memory_t *)at)->bytes;
    return bytes;
}

static bool has_room(CUcontext context, size_t bytes)
{
    return bytes <= ((size_t)emulated_gpu_current()->memory_mib << 20) - allocated_bytes(context);
}

CUresult memory_allocate(CUcontext context, size_t bytes, bool is_managed, CUdeviceptr *out)
{
    if (!out || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!has_room(context, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUdeviceptr address;
    CUresult result = is_managed ? gpu_allocate_shared(bytes, &address) : gpu_allocate(bytes, &address);
    if (result != CUDA_SUCCESS)
        return result;
    driver_memory_t *memory = object_new(MEMORY, context, sizeof *memory);
    if (!memory) {
        gpu_free(address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory->address = address;
    memory->bytes = bytes;
    memory->is_managed = is_managed;
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
        result = memory_allocate(here.context, bytes, false, out);
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemAllocManaged", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = capture_forbid();
    if (result == CUDA_SUCCESS)
        result = memory_allocate(here.context, bytes, true, out);
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned int element)
{
    enum { PITCH_ALIGNMENT = 512 };
    if (!pitch || width == 0 || height == 0 || width > SIZE_MAX / 2 || (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
    if (height > SIZE_MAX / row)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pitch = row;
    return cuMemAlloc_v2(out, row * height);
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t *available, size_t *total)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemGetInfo_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && (!available || !total))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *total = (size_t)emulated_gpu_current()->memory_mib << 20;
        *available = *total - allocated_bytes(here.context);
    }
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
static CUresult allocate_in_stream(const char *symbol, CUdeviceptr *out, size_t bytes, CUmemoryPool pool,
                                   CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !emulated_device_has_pools())
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS && pool && !object_is(MEMORY_POOL, pool))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS && stream->capture)
        result = capture_invalidate(stream->capture);
    if (result == CUDA_SUCCESS)
        result = memory_allocate(here.context, bytes, false, out);
    if (result == CUDA_SUCCESS) {
        pool = pool ? pool : pool_current(here.context->device);
        memory_containing(here.context, *out)->pool = pool;
        if (pool)
            pool->used += bytes;
        if (pool && pool->used > pool->used_high)
            pool->used_high = pool->used;
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
    return allocate_in_stream("cuMemAllocAsync", out, bytes, NULL, stream);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    if (!pool)
        return CUDA_ERROR_INVALID_HANDLE;
    return allocate_in_stream("cuMemAllocFromPoolAsync", out, bytes, pool, stream);
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
    if (memory->pool && object_is(MEMORY_POOL, memory->pool))
        memory->pool->used -= memory->bytes;
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

driver_memory_t *memory_of_host(CUdeviceptr address)
{
    for (driver_object_t *at = object_next(NULL, NULL, HOST_MEMORY); at; at = object_next(at, NULL, HOST_MEMORY)) {
        driver_memory_t *memory = (driver_memory_t *)at;
        if (address >= memory->address && address - memory->address < memory->bytes)
            return memory;
    }
    return NULL;
}

/* Kernels can access host memory that the emulator allocates. */
static CUresult allocate_host(CUcontext context, size_t bytes, unsigned flags, void **out)
{
    void *address = NULL;
    CUdeviceptr shared = 0;
    if (!out || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    bool is_in_emulator = gpu_allocate_shared(bytes, &shared) == CUDA_SUCCESS;
    if (!is_in_emulator && posix_memalign(&address, HOST_ALIGNMENT, bytes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    driver_memory_t *memory = object_new(HOST_MEMORY, context, sizeof *memory);
    if (!memory) {
        if (is_in_emulator)
            gpu_free(shared);
        free(address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory->address = is_in_emulator ? shared : (CUdeviceptr)(uintptr_t)address;
    memory->bytes = bytes;
    memory->is_in_emulator = is_in_emulator;
    memory->flags = flags;
    *out = (void *)(uintptr_t)memory->address;
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
        result = allocate_host(here.context, bytes, flags, out);
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

CUresult CUDAAPI cuMemAllocHost_v2(void **out, size_t bytes)
{
    return cuMemHostAlloc(out, bytes, 0);
}

/* Registers memory of the caller. Kernels cannot access it: its address belongs to the host. */
CUresult CUDAAPI cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemHostRegister_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && (!address || bytes == 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && memory_of_host((CUdeviceptr)(uintptr_t)address))
        result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    driver_memory_t *memory = result == CUDA_SUCCESS ? object_new(HOST_MEMORY, here.context, sizeof *memory) : NULL;
    if (result == CUDA_SUCCESS && !memory)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        memory->address = (CUdeviceptr)(uintptr_t)address;
        memory->bytes = bytes;
        memory->is_registered = true;
        memory->flags = flags;
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemHostUnregister(void *address)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemHostUnregister", NEEDS_NO_STICKY_ERROR);
    driver_memory_t *memory = memory_of_host((CUdeviceptr)(uintptr_t)address);
    if (result == CUDA_SUCCESS && (!memory || !memory->is_registered))
        result = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (result == CUDA_SUCCESS)
        result = context_finish(here.context);
    memory = result == CUDA_SUCCESS ? memory_of_host((CUdeviceptr)(uintptr_t)address) : NULL;
    if (memory)
        object_destroy(&memory->base);
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *address, unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemHostGetDevicePointer_v2", NEEDS_NO_STICKY_ERROR);
    driver_memory_t *memory = memory_of_host((CUdeviceptr)(uintptr_t)address);
    if (result == CUDA_SUCCESS && (!device || !address || flags != 0 || !memory))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !memory->is_in_emulator)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        *device = (CUdeviceptr)(uintptr_t)address;
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *flags, void *address)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuMemHostGetFlags", NEEDS_NO_STICKY_ERROR);
    driver_memory_t *memory = memory_of_host((CUdeviceptr)(uintptr_t)address);
    if (result == CUDA_SUCCESS && (!flags || !memory))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = memory->flags;
    return call_end(&here, result);
}
