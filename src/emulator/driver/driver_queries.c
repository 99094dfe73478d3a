/* SPDX-License-Identifier: Apache-2.0 */
/* driver_queries.c - queries and settings of devices, contexts, streams, functions and pointers that need no emulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"

/* ---- Devices ------------------------------------------------------------------------------------- */

static CUresult begin_device(driver_call_t *here, const char *symbol, const void *out, CUdevice device)
{
    CUresult result = call_begin(here, symbol, NEEDS_INIT);
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (device < 0 || device >= emulated_device_count()))
        result = CUDA_ERROR_INVALID_DEVICE;
    return result;
}

/* The identifier says that the GPU is emulated. */
CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    driver_call_t here;
    CUresult result = begin_device(&here, "cuDeviceGetUuid_v2", uuid, device);
    if (result == CUDA_SUCCESS) {
        memcpy(uuid->bytes, "rung emulated 00", sizeof uuid->bytes);
        uuid->bytes[14] = (char)('0' + device / 10 % 10);
        uuid->bytes[15] = (char)('0' + device % 10);
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

CUresult CUDAAPI cuDeviceGetLuid(char *luid, unsigned int *mask, CUdevice device)
{
    (void)luid, (void)mask, (void)device;
    return CUDA_ERROR_NOT_SUPPORTED; /* Windows only */
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    CUresult result = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    return result == CUDA_SUCCESS ? cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
                                  : result;
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *out, CUdevice device)
{
    driver_call_t here;
    CUresult result = begin_device(&here, "cuDeviceGetProperties", out, device);
    if (result == CUDA_SUCCESS)
        *out = (CUdevprop){.maxThreadsPerBlock = 1024,
                           .maxThreadsDim = {1024, 1024, 64},
                           .maxGridSize = {2147483647, 65535, 65535},
                           .sharedMemPerBlock = 49152,
                           .totalConstantMemory = 65536,
                           .SIMDWidth = 32,
                           .memPitch = 2147483647,
                           .regsPerBlock = 65536,
                           .clockRate = emulated_gpu_current()->clock_khz,
                           .textureAlign = 512};
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    driver_call_t here;
    CUresult result = begin_device(&here, "cuDeviceGetPCIBusId", id, device);
    if (result == CUDA_SUCCESS && length < 13)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(id, (size_t)length, "0000:%02X:00.0", 1 + device);
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    char name[16];
    if (!device || !id)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < emulated_device_count(); i++)
        if (cuDeviceGetPCIBusId(name, sizeof name, i) == CUDA_SUCCESS &&
            (strcmp(id, name) == 0 || strcmp(id, name + 5) == 0)) {
            *device = i;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    driver_call_t here;
    CUresult result = begin_device(&here, "cuDeviceCanAccessPeer", can, device);
    if (result == CUDA_SUCCESS && (peer < 0 || peer >= emulated_device_count()))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *can = device != peer;
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute what, CUdevice device, CUdevice peer)
{
    CUresult result = cuDeviceCanAccessPeer(value, device, peer);
    if (result == CUDA_SUCCESS && device == peer)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *value = what == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
                 what == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    return result;
}

/* ---- Contexts ------------------------------------------------------------------------------------- */

static CUresult begin_context(driver_call_t *here, const char *symbol, const void *out)
{
    CUresult result = call_begin(here, symbol, NEEDS_CONTEXT);
    return result == CUDA_SUCCESS && !out ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxGetFlags", flags);
    if (result == CUDA_SUCCESS)
        *flags = here.context->flags;
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long *id)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxGetId", id);
    if (result == CUDA_SUCCESS)
        *id = (unsigned long long)(uintptr_t)(context ? context : here.context);
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
    (void)context;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 3020; /* of cuCtxCreate_v2 */
    return CUDA_SUCCESS;
}

/* Limits of the device's run-time system are stored; the emulator has none of its own. */
CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit)
{
    static const size_t defaults[CU_LIMIT_MAX] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0, 0};
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxGetLimit", value);
    if (result == CUDA_SUCCESS && (unsigned)limit >= CU_LIMIT_MAX)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *value = here.context->limits[limit] ? here.context->limits[limit] : defaults[limit];
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxSetLimit", "");
    if (result == CUDA_SUCCESS && (unsigned)limit >= CU_LIMIT_MAX)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        here.context->limits[limit] = value;
    return call_end(&here, result);
}

/* Settings of caches and banks change nothing but speed. */
CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *config)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxGetCacheConfig", config);
    if (result == CUDA_SUCCESS)
        *config = CU_FUNC_CACHE_PREFER_NONE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxSetCacheConfig", "");
    if (result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        result = CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxGetSharedMemConfig", config);
    if (result == CUDA_SUCCESS)
        *config = (CUsharedconfig)1; /* banks of 4 bytes */
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    driver_call_t here;
    (void)config;
    return call_end(&here, begin_context(&here, "cuCtxSetSharedMemConfig", ""));
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxGetStreamPriorityRange", "");
    if (result == CUDA_SUCCESS && least)
        *least = 0;
    if (result == CUDA_SUCCESS && greatest)
        *greatest = -5;
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
    driver_call_t here;
    return call_end(&here, begin_context(&here, "cuCtxResetPersistingL2Cache", ""));
}

/* All devices can access the memory of all others; enabling is only checked for programs that enable twice. */
CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxEnablePeerAccess", "");
    if (result == CUDA_SUCCESS && (flags != 0 || !context_is(peer)))
        result = flags != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && (peer == here.context || peer->device == here.context->device))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && here.context->peers & UINT64_C(1) << peer->device % 64)
        result = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (result == CUDA_SUCCESS)
        here.context->peers |= UINT64_C(1) << peer->device % 64;
    return call_end(&here, result);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer)
{
    driver_call_t here;
    CUresult result = begin_context(&here, "cuCtxDisablePeerAccess", "");
    if (result == CUDA_SUCCESS && !context_is(peer))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && !(here.context->peers & UINT64_C(1) << peer->device % 64))
        result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    if (result == CUDA_SUCCESS)
        here.context->peers &= ~(UINT64_C(1) << peer->device % 64);
    return call_end(&here, result);
}

CUresult CUDAAPI cuProfilerStart(void)
{
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuProfilerStop(void)
{
    return CUDA_SUCCESS;
}

/* ---- Streams and events ----------------------------------------------------------------------------- */

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    CUresult result = cuStreamCreate(out, flags);
    if (result == CUDA_SUCCESS)
        (*out)->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    return result;
}

static CUresult begin_stream(driver_call_t *here, const char *symbol, const void *out, CUstream handle,
                             CUstream *stream)
{
    CUresult result = call_begin(here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? stream_of(here->context, handle, stream) : result;
}

CUresult CUDAAPI cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = begin_stream(&here, "cuStreamGetFlags", flags, handle, &stream);
    if (result == CUDA_SUCCESS)
        *flags = stream->flags;
    return call_end(&here, result);
}

CUresult CUDAAPI cuStreamGetPriority(CUstream handle, int *priority)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = begin_stream(&here, "cuStreamGetPriority", priority, handle, &stream);
    if (result == CUDA_SUCCESS)
        *priority = stream->priority;
    return call_end(&here, result);
}

CUresult CUDAAPI cuStreamGetId(CUstream handle, unsigned long long *id)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = begin_stream(&here, "cuStreamGetId", id, handle, &stream);
    if (result == CUDA_SUCCESS)
        *id = (unsigned long long)(uintptr_t)stream;
    return call_end(&here, result);
}

CUresult CUDAAPI cuStreamQuery(CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = begin_stream(&here, "cuStreamQuery", "", handle, &stream);
    if (result == CUDA_SUCCESS && stream->capture)
        result = capture_invalidate(stream->capture);
    if (result == CUDA_SUCCESS)
        result = queue_is_idle(stream->queue) ? context_collect_error(here.context) : CUDA_ERROR_NOT_READY;
    return call_end(&here, result);
}

CUresult CUDAAPI cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *user, unsigned int flags)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = begin_stream(&here, "cuStreamAddCallback", "", handle, &stream);
    if (result == CUDA_SUCCESS && (!callback || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    driver_work_t *work = result == CUDA_SUCCESS ? work_new(STREAM_CALLBACK) : NULL;
    if (result == CUDA_SUCCESS && !work)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        work->callback = callback;
        work->stream = handle;
        work->user = user;
        result = work_submit(stream, work);
    }
    return call_end(&here, result);
}

/* Managed memory is always accessible. */
CUresult CUDAAPI cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes, unsigned int flags)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = begin_stream(&here, "cuStreamAttachMemAsync", "", handle, &stream);
    (void)bytes, (void)flags;
    if (result == CUDA_SUCCESS && !memory_containing(NULL, address))
        result = CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : cuEventRecord(event, stream);
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    return cuEventElapsedTime(milliseconds, start, end);
}

/* ---- Functions ------------------------------------------------------------------------------------------ */

static CUresult begin_function(driver_call_t *here, const char *symbol, const void *out, CUfunction function)
{
    CUresult result = call_begin(here, symbol, NEEDS_INIT);
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !object_is(FUNCTION, function))
        result = CUDA_ERROR_INVALID_HANDLE;
    return result;
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    driver_call_t here;
    CUresult result = begin_function(&here, "cuFuncSetCacheConfig", "", function);
    if (result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        result = CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config)
{
    driver_call_t here;
    (void)config;
    return call_end(&here, begin_function(&here, "cuFuncSetSharedMemConfig", "", function));
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *module, CUfunction function)
{
    driver_call_t here;
    CUresult result = begin_function(&here, "cuFuncGetModule", module, function);
    if (result == CUDA_SUCCESS)
        *module = function->module;
    return call_end(&here, result);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction function)
{
    driver_call_t here;
    CUresult result = begin_function(&here, "cuFuncGetName", name, function);
    if (result == CUDA_SUCCESS)
        *name = rung_emulator_kernel_get_info(function->kernel)->name;
    return call_end(&here, result);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    driver_call_t here;
    CUresult result = begin_function(&here, "cuFuncGetParamInfo", offset, function);
    const rung_emulator_kernel_info *info = result == CUDA_SUCCESS ? rung_emulator_kernel_get_info(function->kernel)
                                                                   : NULL;
    if (info && index >= (size_t)info->parameter_count)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *offset = (size_t)info->parameter_offsets[index];
        if (bytes)
            *bytes = (size_t)info->parameter_bytes[index];
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuFuncLoad(CUfunction function)
{
    driver_call_t here;
    return call_end(&here, begin_function(&here, "cuFuncLoad", "", function));
}

/* ---- Pointers -------------------------------------------------------------------------------------------- */

static driver_memory_t *memory_of(CUdeviceptr address)
{
    driver_memory_t *memory = memory_containing(NULL, address);
    if (memory && address - memory->address == memory->bytes)
        memory = NULL; /* just behind it */
    return memory ? memory : memory_of_host(address);
}

static CUresult pointer_attribute(const driver_memory_t *memory, CUdeviceptr address, CUpointer_attribute what,
                                  void *value)
{
    bool is_host = memory->base.kind == HOST_MEMORY;
    switch ((int)what) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)value = memory->base.context; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        if (is_host && !memory->is_in_emulator)
            return CUDA_ERROR_INVALID_VALUE;
        *(CUdeviceptr *)value = address;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!is_host && !memory->is_managed)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)value = (void *)(uintptr_t)address;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(unsigned *)value = 0; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)value = memory->address; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)value = memory->is_managed; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = memory->base.context->device; break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *(unsigned *)value = 0; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)value = memory->address; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)value = memory->bytes; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)value = 1; break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute what, CUdeviceptr address)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuPointerGetAttribute", NEEDS_INIT);
    driver_memory_t *memory = result == CUDA_SUCCESS && value ? memory_of(address) : NULL;
    if (result == CUDA_SUCCESS)
        result = memory ? pointer_attribute(memory, address, what, value) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

/* Returns the bytes of an attribute's value. */
static size_t value_bytes(CUpointer_attribute what)
{
    switch ((int)what) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED: return sizeof(int);
    default: return sizeof(CUdeviceptr);
    }
}

/* Attributes of memory that CUDA does not know are 0; the device is -2. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned int count, CUpointer_attribute *what, void **values,
                                        CUdeviceptr address)
{
    enum { NO_DEVICE = -2 };
    driver_call_t here;
    CUresult result = call_begin(&here, "cuPointerGetAttributes", NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!what || !values))
        result = CUDA_ERROR_INVALID_VALUE;
    driver_memory_t *memory = result == CUDA_SUCCESS ? memory_of(address) : NULL;
    for (unsigned i = 0; result == CUDA_SUCCESS && i < count; i++) {
        if (memory && pointer_attribute(memory, address, what[i], values[i]) == CUDA_SUCCESS)
            continue;
        memset(values[i], 0, value_bytes(what[i]));
        if (what[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)values[i] = NO_DEVICE;
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute what, CUdeviceptr address)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuPointerSetAttribute", NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!value || what != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !memory_of(address)))
        result = CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

/* Managed memory does not move. */
static CUresult check_managed(const char *symbol, CUdeviceptr address)
{
    driver_call_t here;
    CUresult result = call_begin(&here, symbol, NEEDS_NO_STICKY_ERROR);
    driver_memory_t *memory = result == CUDA_SUCCESS ? memory_of(address) : NULL;
    if (result == CUDA_SUCCESS && (!memory || !memory->is_managed))
        result = CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
    (void)bytes, (void)device, (void)stream;
    return check_managed("cuMemPrefetchAsync", address);
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
                                       CUstream stream)
{
    (void)bytes, (void)location, (void)flags, (void)stream;
    return check_managed("cuMemPrefetchAsync_v2", address);
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
    (void)bytes, (void)advice, (void)device;
    return check_managed("cuMemAdvise", address);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    (void)bytes, (void)advice, (void)location;
    return check_managed("cuMemAdvise_v2", address);
}
