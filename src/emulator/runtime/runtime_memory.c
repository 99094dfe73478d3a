/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_memory.c - allocation, copies and fills of memory. */
#include "emulator/runtime/runtime.h"

static CUdeviceptr pointer(const void *address)
{
    return (CUdeviceptr)(uintptr_t)address;
}

/* ---- Allocation -------------------------------------------------------------------------------------- */

/* Nothing is allocated for 0 bytes. */
#define ALLOCATE(call)                                  \
    do {                                                \
        if (!address)                                   \
            return runtime_fail(cudaErrorInvalidValue); \
        *address = NULL;                                \
        IN_CONTEXT(bytes == 0 ? CUDA_SUCCESS : (call)); \
    } while (0)

cudaError_t cudaMalloc(void **address, size_t bytes)
{
    ALLOCATE(cuMemAlloc_v2((CUdeviceptr *)(void *)address, bytes));
}

cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
    ALLOCATE(cuMemHostAlloc(address, bytes, flags));
}

cudaError_t cudaMallocHost(void **address, size_t bytes)
{
    return cudaHostAlloc(address, bytes, 0);
}

cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
    ALLOCATE(cuMemAllocManaged((CUdeviceptr *)(void *)address, bytes, flags));
}

cudaError_t cudaMallocAsync(void **address, size_t bytes, cudaStream_t stream)
{
    ALLOCATE(cuMemAllocAsync((CUdeviceptr *)(void *)address, bytes, stream));
}

cudaError_t cudaMallocFromPoolAsync(void **address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    ALLOCATE(cuMemAllocFromPoolAsync((CUdeviceptr *)(void *)address, bytes, pool, stream));
}

cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
    if (!address)
        return runtime_fail(cudaErrorInvalidValue);
    IN_CONTEXT(cuMemAllocPitch_v2((CUdeviceptr *)(void *)address, pitch, width, height, 4));
}

cudaError_t cudaMalloc3D(cudaPitchedPtr *memory, cudaExtent extent)
{
    size_t rows;
    if (!memory || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return runtime_fail(cudaErrorInvalidValue);
    memory->xsize = extent.width;
    memory->ysize = extent.height;
    return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, rows);
}

cudaError_t cudaFree(void *address)
{
    IN_CONTEXT(address ? cuMemFree_v2(pointer(address)) : CUDA_SUCCESS);
}

cudaError_t cudaFreeHost(void *address)
{
    IN_CONTEXT(address ? cuMemFreeHost(address) : CUDA_SUCCESS);
}

cudaError_t cudaFreeAsync(void *address, cudaStream_t stream)
{
    IN_CONTEXT(address ? cuMemFreeAsync(pointer(address), stream) : CUDA_SUCCESS);
}

cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
    IN_CONTEXT(cuMemHostRegister_v2(address, bytes, flags));
}

cudaError_t cudaHostUnregister(void *address)
{
    IN_CONTEXT(cuMemHostUnregister(address));
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    IN_CONTEXT(cuMemHostGetDevicePointer_v2((CUdeviceptr *)(void *)device, host, flags));
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
    IN_CONTEXT(cuMemHostGetFlags(flags, host));
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    IN_CONTEXT(cuMemGetInfo_v2(available, total));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *out, const void *address)
{
    enum { UNREGISTERED, HOST, DEVICE, MANAGED };
    unsigned type = 0, is_managed = 0;
    int of = 0;
    CUdeviceptr device = 0;
    void *host = NULL;
    CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                  CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *values[] = {&type, &is_managed, &of, &device, &host};
    CUresult result = out ? runtime_begin() : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = cuPointerGetAttributes(sizeof what / sizeof *what, what, values, pointer(address));
    if (result == CUDA_SUCCESS)
        *out = (cudaPointerAttributes){.type = is_managed                     ? MANAGED
                                               : type == CU_MEMORYTYPE_HOST   ? HOST
                                               : type == CU_MEMORYTYPE_DEVICE ? DEVICE
                                                                              : UNREGISTERED,
                                       .device = of,
                                       .devicePointer = (void *)(uintptr_t)device,
                                       .hostPointer = type ? host : (void *)(uintptr_t)address};
    return runtime_end(result);
}

/* ---- Pools ---------------------------------------------------------------------------------------------- */

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const CUmemPoolProps *properties)
{
    AFTER_INIT(cuMemPoolCreate(pool, properties));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    AFTER_INIT(cuMemPoolDestroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
    AFTER_INIT(cuMemPoolTrimTo(pool, bytes));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, CUmemPool_attribute what, void *value)
{
    AFTER_INIT(cuMemPoolSetAttribute(pool, what, value));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, CUmemPool_attribute what, void *value)
{
    AFTER_INIT(cuMemPoolGetAttribute(pool, what, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const CUmemAccessDesc *access, size_t count)
{
    AFTER_INIT(cuMemPoolSetAccess(pool, access, count));
}

cudaError_t cudaMemPoolGetAccess(CUmemAccess_flags *flags, cudaMemPool_t pool, CUmemLocation *location)
{
    AFTER_INIT(cuMemPoolGetAccess(flags, pool, location));
}

/* ---- Managed memory --------------------------------------------------------------------------------------- */

#if RUNG_CUDART_MAJOR >= 13
cudaError_t cudaMemPrefetchAsync(const void *address, size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream)
{
    IN_CONTEXT(cuMemPrefetchAsync_v2(pointer(address), bytes, location, flags, stream));
}

cudaError_t cudaMemAdvise(const void *address, size_t bytes, CUmem_advise advice, cudaMemLocation location)
{
    IN_CONTEXT(cuMemAdvise_v2(pointer(address), bytes, advice, location));
}
#else
cudaError_t cudaMemPrefetchAsync(const void *address, size_t bytes, int device, cudaStream_t stream)
{
    IN_CONTEXT(cuMemPrefetchAsync(pointer(address), bytes, device, stream));
}

cudaError_t cudaMemPrefetchAsync_v2(const void *address, size_t bytes, cudaMemLocation location, unsigned flags,
                                    cudaStream_t stream)
{
    IN_CONTEXT(cuMemPrefetchAsync_v2(pointer(address), bytes, location, flags, stream));
}

cudaError_t cudaMemAdvise(const void *address, size_t bytes, CUmem_advise advice, int device)
{
    IN_CONTEXT(cuMemAdvise(pointer(address), bytes, advice, device));
}

cudaError_t cudaMemAdvise_v2(const void *address, size_t bytes, CUmem_advise advice, cudaMemLocation location)
{
    IN_CONTEXT(cuMemAdvise_v2(pointer(address), bytes, advice, location));
}
#endif

/* ---- Copies ------------------------------------------------------------------------------------------------ */

static CUmemorytype type_of_source(cudaMemcpyKind kind)
{
    return kind == cudaMemcpyDefault                                            ? CU_MEMORYTYPE_UNIFIED
           : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE
                                                                                : CU_MEMORYTYPE_HOST;
}

static CUmemorytype type_of_destination(cudaMemcpyKind kind)
{
    return kind == cudaMemcpyDefault                                            ? CU_MEMORYTYPE_UNIFIED
           : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE
                                                                                : CU_MEMORYTYPE_HOST;
}

static CUDA_MEMCPY3D describe(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = type_of_source(kind),
                           .srcHost = from,
                           .srcDevice = pointer(from),
                           .srcPitch = from_pitch,
                           .dstMemoryType = type_of_destination(kind),
                           .dstHost = to,
                           .dstDevice = pointer(to),
                           .dstPitch = to_pitch,
                           .WidthInBytes = width,
                           .Height = height,
                           .Depth = 1};
}

static cudaError_t copy(const CUDA_MEMCPY3D *what, cudaMemcpyKind kind, cudaStream_t stream, bool is_async)
{
    if ((unsigned)kind > cudaMemcpyDefault)
        return runtime_fail(cudaErrorInvalidMemcpyDirection);
    IN_CONTEXT(is_async ? cuMemcpy3DAsync_v2(what, stream) : cuMemcpy3D_v2(what));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    const CUDA_MEMCPY3D what = describe(to, bytes, from, bytes, bytes, 1, kind);
    return copy(&what, kind, NULL, false);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    const CUDA_MEMCPY3D what = describe(to, bytes, from, bytes, bytes, 1, kind);
    return copy(&what, kind, stream, true);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind)
{
    const CUDA_MEMCPY3D what = describe(to, to_pitch, from, from_pitch, width, height, kind);
    if (width > to_pitch || width > from_pitch)
        return runtime_fail(cudaErrorInvalidPitchValue);
    return copy(&what, kind, NULL, false);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    const CUDA_MEMCPY3D what = describe(to, to_pitch, from, from_pitch, width, height, kind);
    if (width > to_pitch || width > from_pitch)
        return runtime_fail(cudaErrorInvalidPitchValue);
    return copy(&what, kind, stream, true);
}

static cudaError_t copy_3d(const cudaMemcpy3DParms *given, cudaStream_t stream, bool is_async)
{
    if (!given)
        return runtime_fail(cudaErrorInvalidValue);
    if (given->srcArray || given->dstArray)
        return runtime_fail(cudaErrorNotSupported);
    CUDA_MEMCPY3D what = describe(given->dstPtr.ptr, given->dstPtr.pitch, given->srcPtr.ptr, given->srcPtr.pitch,
                                  given->extent.width, given->extent.height, given->kind);
    what.Depth = given->extent.depth;
    what.srcHeight = given->srcPtr.ysize;
    what.dstHeight = given->dstPtr.ysize;
    what.srcXInBytes = given->srcPos.x, what.srcY = given->srcPos.y, what.srcZ = given->srcPos.z;
    what.dstXInBytes = given->dstPos.x, what.dstY = given->dstPos.y, what.dstZ = given->dstPos.z;
    return copy(&what, given->kind, stream, is_async);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *given)
{
    return copy_3d(given, NULL, false);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *given, cudaStream_t stream)
{
    return copy_3d(given, stream, true);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    (void)to_device, (void)from_device;
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream)
{
    (void)to_device, (void)from_device;
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

/* ---- Variables ---------------------------------------------------------------------------------------------- */

static cudaError_t find_range(const void *symbol, size_t bytes, size_t offset, char **address)
{
    CUdeviceptr start = 0;
    size_t size = 0;
    CUresult result = runtime_begin();
    if (result == CUDA_SUCCESS)
        result = runtime_find_variable(symbol, &start, &size);
    if (result == CUDA_ERROR_NOT_FOUND)
        return runtime_fail(cudaErrorInvalidSymbol);
    if (result == CUDA_SUCCESS && (offset > size || bytes > size - offset))
        result = CUDA_ERROR_INVALID_VALUE;
    *address = (char *)(uintptr_t)start + offset;
    return runtime_end(result);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    char *to = NULL;
    cudaError_t error = find_range(symbol, bytes, offset, &to);
    return error == cudaSuccess ? cudaMemcpy(to, from, bytes, kind) : error;
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    char *from = NULL;
    cudaError_t error = find_range(symbol, bytes, offset, &from);
    return error == cudaSuccess ? cudaMemcpy(to, from, bytes, kind) : error;
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream)
{
    char *to = NULL;
    cudaError_t error = find_range(symbol, bytes, offset, &to);
    return error == cudaSuccess ? cudaMemcpyAsync(to, from, bytes, kind, stream) : error;
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    char *from = NULL;
    cudaError_t error = find_range(symbol, bytes, offset, &from);
    return error == cudaSuccess ? cudaMemcpyAsync(to, from, bytes, kind, stream) : error;
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    char *found = NULL;
    if (!address)
        return runtime_fail(cudaErrorInvalidValue);
    cudaError_t error = find_range(symbol, 0, 0, &found);
    *address = found;
    return error;
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    CUdeviceptr start = 0;
    CUresult result = bytes ? runtime_begin() : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = runtime_find_variable(symbol, &start, bytes);
    return result == CUDA_ERROR_NOT_FOUND ? runtime_fail(cudaErrorInvalidSymbol) : runtime_end(result);
}

/* ---- Fills ----------------------------------------------------------------------------------------------------- */

cudaError_t cudaMemset(void *address, int value, size_t bytes)
{
    IN_CONTEXT(cuMemsetD8_v2(pointer(address), (unsigned char)value, bytes));
}

cudaError_t cudaMemsetAsync(void *address, int value, size_t bytes, cudaStream_t stream)
{
    IN_CONTEXT(cuMemsetD8Async(pointer(address), (unsigned char)value, bytes, stream));
}

cudaError_t cudaMemset2D(void *address, size_t pitch, int value, size_t width, size_t height)
{
    IN_CONTEXT(cuMemsetD2D8_v2(pointer(address), pitch, (unsigned char)value, width, height));
}

cudaError_t cudaMemset2DAsync(void *address, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    IN_CONTEXT(cuMemsetD2D8Async(pointer(address), pitch, (unsigned char)value, width, height, stream));
}

static cudaError_t fill_3d(cudaPitchedPtr memory, int value, cudaExtent extent, cudaStream_t stream, bool is_async)
{
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++) {
        char *slice = (char *)memory.ptr + z * memory.pitch * memory.ysize;
        error = is_async ? cudaMemset2DAsync(slice, memory.pitch, value, extent.width, extent.height, stream)
                         : cudaMemset2D(slice, memory.pitch, value, extent.width, extent.height);
    }
    return error;
}

cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent)
{
    return fill_3d(memory, value, extent, NULL, false);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value, cudaExtent extent, cudaStream_t stream)
{
    return fill_3d(memory, value, extent, stream, true);
}
