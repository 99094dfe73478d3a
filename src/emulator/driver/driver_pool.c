/* SPDX-License-Identifier: Apache-2.0 */
/* driver_pool.c - memory pools. Memory of a pool is allocated at once and freed in the order of a stream; a pool counts it. */
#include <stdint.h>

#include "emulator/driver/driver.h"

enum { DEVICES_MAX = 64 };
static CUmemoryPool defaults[DEVICES_MAX], current[DEVICES_MAX];

static CUmemoryPool pool_new(CUdevice device)
{
    CUmemoryPool pool = object_new(MEMORY_POOL, NULL, sizeof *pool);
    if (!pool)
        return NULL;
    pool->device = device;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    return pool;
}

static CUmemoryPool default_pool(CUdevice device)
{
    if (device < 0 || device >= DEVICES_MAX)
        return NULL;
    if (!defaults[device])
        defaults[device] = pool_new(device);
    return defaults[device];
}

CUmemoryPool pool_current(CUdevice device)
{
    if (device < 0 || device >= DEVICES_MAX)
        return NULL;
    return current[device] && object_is(MEMORY_POOL, current[device]) ? current[device] : default_pool(device);
}

static CUresult begin_device(driver_call_t *here, const char *symbol, const void *out, CUdevice device)
{
    CUresult result = call_begin(here, symbol, NEEDS_INIT);
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (device < 0 || device >= emulated_device_count() || device >= DEVICES_MAX))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS && !emulated_device_has_pools())
        result = CUDA_ERROR_NOT_SUPPORTED;
    return result;
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    driver_call_t here;
    CUresult result = begin_device(&here, "cuDeviceGetDefaultMemPool", out, device);
    if (result == CUDA_SUCCESS)
        *out = default_pool(device);
    return call_end(&here, result == CUDA_SUCCESS && !*out ? CUDA_ERROR_OUT_OF_MEMORY : result);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    driver_call_t here;
    CUresult result = begin_device(&here, "cuDeviceGetMemPool", out, device);
    if (result == CUDA_SUCCESS)
        *out = pool_current(device);
    return call_end(&here, result == CUDA_SUCCESS && !*out ? CUDA_ERROR_OUT_OF_MEMORY : result);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    driver_call_t here;
    CUresult result = begin_device(&here, "cuDeviceSetMemPool", pool, device);
    if (result == CUDA_SUCCESS && !object_is(MEMORY_POOL, pool))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        current[device] = pool;
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties)
{
    driver_call_t here;
    int device = properties ? properties->location.id : 0;
    CUresult result = begin_device(&here, "cuMemPoolCreate", out, device);
    if (result == CUDA_SUCCESS && !properties)
        result = CUDA_ERROR_INVALID_VALUE;
    CUmemoryPool pool = result == CUDA_SUCCESS ? pool_new(device) : NULL;
    if (result == CUDA_SUCCESS && !pool)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *out = pool;
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuMemPoolDestroy", NEEDS_INIT, MEMORY_POOL, pool);
    if (result == CUDA_SUCCESS && pool == defaults[pool->device])
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        object_destroy(&pool->base);
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
    driver_call_t here;
    (void)bytes; /* free memory is returned at once */
    return call_end(&here, call_begin_on(&here, "cuMemPoolTrimTo", NEEDS_INIT, MEMORY_POOL, pool));
}

static CUresult set_attribute(CUmemoryPool pool, CUmemPool_attribute what, const void *value)
{
    switch ((int)what) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: pool->reuse[what - 1] = *(const int *)value; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->threshold = *(const uint64_t *)value; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: pool->used_high = pool->used; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult get_attribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
    switch ((int)what) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *(int *)value = pool->reuse[what - 1]; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(uint64_t *)value = pool->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(uint64_t *)value = pool->used; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(uint64_t *)value = pool->used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuMemPoolSetAttribute", NEEDS_INIT, MEMORY_POOL, pool);
    if (result == CUDA_SUCCESS)
        result = value ? set_attribute(pool, what, value) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuMemPoolGetAttribute", NEEDS_INIT, MEMORY_POOL, pool);
    if (result == CUDA_SUCCESS)
        result = value ? get_attribute(pool, what, value) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

/* All devices can access all memory. */
CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuMemPoolSetAccess", NEEDS_INIT, MEMORY_POOL, pool);
    if (result == CUDA_SUCCESS && count > 0 && !access)
        result = CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuMemPoolGetAccess", NEEDS_INIT, MEMORY_POOL, pool);
    if (result == CUDA_SUCCESS && (!flags || !location))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return call_end(&here, result);
}
