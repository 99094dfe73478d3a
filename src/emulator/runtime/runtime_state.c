/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_state.c - the current device and the last error of a thread, and functions of devices. */
#include <pthread.h>
#include <string.h>

#include "emulator/runtime/runtime.h"

static _Thread_local int device; /* of this thread */
static _Thread_local cudaError_t last;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts[RUNTIME_DEVICES_MAX]; /* primary contexts that the runtime has retained */

/* ---- Calls ---------------------------------------------------------------------------------------- */

int runtime_device(void)
{
    return device;
}

/* Retains the primary context of the current device and makes it current. */
static CUresult use_device(void)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!contexts[device])
        result = cuDevicePrimaryCtxRetain(&contexts[device], device);
    CUcontext context = contexts[device];
    pthread_mutex_unlock(&lock);
    return result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result;
}

/* A context that the program made current with the driver's functions stays current. */
CUresult runtime_begin(void)
{
    CUcontext context = NULL;
    CUresult result = cuInit(0);
    if (result != CUDA_SUCCESS)
        return result;
    bool is_ready = cuCtxGetCurrent(&context) == CUDA_SUCCESS && context;
    pthread_mutex_lock(&lock);
    bool is_retained = contexts[device] != NULL;
    pthread_mutex_unlock(&lock);
    return is_ready && is_retained ? CUDA_SUCCESS : use_device();
}

cudaError_t runtime_fail(cudaError_t error)
{
    if (error != cudaSuccess)
        last = error;
    return error;
}

cudaError_t runtime_end(CUresult result)
{
    return runtime_fail((cudaError_t)result);
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

static bool look_up(cudaError_t error, const char **name, const char **text)
{
    switch (error) {
#define CUDA_ERROR_CODE(number, driver, runtime, words) \
    case number:                                        \
        *name = #runtime;                               \
        *text = words;                                  \
        return true;
#define RUNTIME_ERROR_CODE(number, runtime, words) CUDA_ERROR_CODE(number, , runtime, words)
#include "emulator/driver/cuda_errors.def"
#undef CUDA_ERROR_CODE
    default: return false;
    }
}

const char *cudaGetErrorName(cudaError_t error)
{
    const char *name, *text;
    return look_up(error, &name, &text) ? name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const char *name, *text;
    return look_up(error, &name, &text) ? text : "unrecognized error code";
}

/* ---- The current device ------------------------------------------------------------------------------ */

cudaError_t cudaGetDeviceCount(int *count)
{
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetCount(count);
    else if (count)
        *count = 0;
    return runtime_end(result);
}

cudaError_t cudaGetDevice(int *out)
{
    if (!out)
        return runtime_fail(cudaErrorInvalidValue);
    *out = device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int wanted)
{
    int count = 0;
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetCount(&count);
    if (result == CUDA_SUCCESS && (wanted < 0 || wanted >= count || wanted >= RUNTIME_DEVICES_MAX))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS) {
        device = wanted;
        result = use_device();
    }
    return runtime_end(result);
}

cudaError_t cudaInitDevice(int wanted, unsigned device_flags, unsigned flags)
{
    int old = device;
    (void)device_flags, (void)flags;
    cudaError_t error = cudaSetDevice(wanted);
    return error == cudaSuccess ? cudaSetDevice(old) : error;
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    CUresult result = cuInit(0);
    return runtime_end(result == CUDA_SUCCESS ? cuDevicePrimaryCtxSetFlags_v2(device, flags) : result);
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    int is_active = 0;
    CUresult result = cuInit(0);
    return runtime_end(result == CUDA_SUCCESS ? cuDevicePrimaryCtxGetState(device, flags, &is_active) : result);
}

cudaError_t cudaSetValidDevices(int *devices, int count)
{
    return count > 0 && devices ? cudaSetDevice(devices[0]) : cudaSuccess;
}

cudaError_t cudaChooseDevice(int *out, const cudaDeviceProp *wanted)
{
    if (!out || !wanted)
        return runtime_fail(cudaErrorInvalidValue);
    *out = 0; /* all devices are the same */
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    CUresult result = runtime_begin();
    return runtime_end(result == CUDA_SUCCESS ? cuCtxSynchronize() : result);
}

cudaError_t cudaDeviceReset(void)
{
    CUresult result = cuInit(0);
    if (result != CUDA_SUCCESS)
        return runtime_end(result);
    runtime_forget_modules(device);
    pthread_mutex_lock(&lock);
    bool is_used = contexts[device] != NULL;
    contexts[device] = NULL;
    pthread_mutex_unlock(&lock);
    if (is_used) {
        cuCtxSetCurrent(NULL);
        result = cuDevicePrimaryCtxReset_v2(device);
    }
    last = cudaSuccess;
    return runtime_end(result);
}

cudaError_t cudaThreadSynchronize(void)
{
    return cudaDeviceSynchronize();
}

cudaError_t cudaThreadExit(void)
{
    return cudaDeviceReset();
}

/* ---- Properties ---------------------------------------------------------------------------------------- */

cudaError_t cudaDeviceGetAttribute(int *value, CUdevice_attribute what, int of)
{
    CUresult result = cuInit(0);
    return runtime_end(result == CUDA_SUCCESS ? cuDeviceGetAttribute(value, what, of) : result);
}

static int attribute(CUdevice_attribute what, int of)
{
    int value = 0;
    return cuDeviceGetAttribute(&value, what, of) == CUDA_SUCCESS ? value : 0;
}

static void fill_limits(cudaDeviceProp *out, int of)
{
    out->sharedMemPerBlock = (size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, of);
    out->sharedMemPerBlockOptin = (size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, of);
    out->sharedMemPerMultiprocessor = (size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, of);
    out->reservedSharedMemPerBlock = (size_t)attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, of);
    out->regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, of);
    out->regsPerMultiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, of);
    out->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, of);
    out->memPitch = (size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH, of);
    out->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, of);
    out->maxThreadsPerMultiProcessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, of);
    out->maxBlocksPerMultiProcessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, of);
    for (int i = 0; i < 3; i++) {
        out->maxThreadsDim[i] = attribute((CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i), of);
        out->maxGridSize[i] = attribute((CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i), of);
    }
    out->totalConstMem = (size_t)attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, of);
    out->textureAlignment = (size_t)attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, of);
    out->texturePitchAlignment = (size_t)attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, of);
    out->surfaceAlignment = (size_t)attribute(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, of);
    out->accessPolicyMaxWindowSize = attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, of);
    out->persistingL2CacheMaxSize = attribute(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, of);
}

static void fill_abilities(cudaDeviceProp *out, int of)
{
    out->major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, of);
    out->minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, of);
    out->multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, of);
    out->memoryBusWidth = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, of);
    out->l2CacheSize = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, of);
    out->canMapHostMemory = attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, of);
    out->concurrentKernels = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, of);
    out->pciBusID = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, of);
    out->asyncEngineCount = attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, of);
    out->unifiedAddressing = attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, of);
    out->streamPrioritiesSupported = attribute(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, of);
    out->globalL1CacheSupported = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, of);
    out->localL1CacheSupported = attribute(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, of);
    out->managedMemory = attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, of);
    out->multiGpuBoardGroupID = of;
    out->concurrentManagedAccess = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, of);
    out->computePreemptionSupported = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, of);
    out->cooperativeLaunch = attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, of);
#if RUNG_CUDART_MAJOR < 13
    out->clockRate = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, of);
    out->memoryClockRate = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, of);
    out->deviceOverlap = attribute(CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, of);
    out->singleToDoublePrecisionPerfRatio = attribute(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, of);
#endif
#if RUNG_CUDART_MAJOR >= 12
    out->hostRegisterSupported = attribute(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, of);
    out->memoryPoolsSupported = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, of);
    out->clusterLaunch = attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, of);
#endif
}

static CUresult fill_properties(cudaDeviceProp *out, int of)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuInit(0);
    memset(out, 0, sizeof *out);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetName(out->name, sizeof out->name, of);
    if (result == CUDA_SUCCESS)
        result = cuDeviceTotalMem_v2(&out->totalGlobalMem, of);
    if (result != CUDA_SUCCESS)
        return result;
    cuDeviceGetUuid_v2((CUuuid *)(void *)out->uuid, of);
    fill_limits(out, of);
    fill_abilities(out, of);
    return CUDA_SUCCESS;
}

#if RUNG_CUDART_MAJOR == 12
cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp *out, int of)
{
    return runtime_end(fill_properties(out, of));
}

/* Programs that were compiled for CUDA 11 have a shorter structure. */
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int of)
{
    cudaDeviceProp properties;
    if (!out)
        return runtime_fail(cudaErrorInvalidValue);
    CUresult result = fill_properties(&properties, of);
    if (result == CUDA_SUCCESS)
        memcpy(out, &properties, offsetof(cudaDeviceProp, hostRegisterSupported));
    return runtime_end(result);
}
#else
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int of)
{
    return runtime_end(fill_properties(out, of));
}
#endif

/* ---- Functions of the driver ------------------------------------------------------------------------------ */

cudaError_t cudaDeviceGetLimit(size_t *value, CUlimit limit)
{
    IN_CONTEXT(cuCtxGetLimit(value, limit));
}

cudaError_t cudaDeviceSetLimit(CUlimit limit, size_t value)
{
    IN_CONTEXT(cuCtxSetLimit(limit, value));
}

cudaError_t cudaDeviceGetCacheConfig(CUfunc_cache *config)
{
    IN_CONTEXT(cuCtxGetCacheConfig(config));
}

cudaError_t cudaDeviceSetCacheConfig(CUfunc_cache config)
{
    IN_CONTEXT(cuCtxSetCacheConfig(config));
}

cudaError_t cudaDeviceGetSharedMemConfig(CUsharedconfig *config)
{
    IN_CONTEXT(cuCtxGetSharedMemConfig(config));
}

cudaError_t cudaDeviceSetSharedMemConfig(CUsharedconfig config)
{
    IN_CONTEXT(cuCtxSetSharedMemConfig(config));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    IN_CONTEXT(cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int of)
{
    AFTER_INIT(cuDeviceGetPCIBusId(id, length, of));
}

cudaError_t cudaDeviceGetByPCIBusId(int *out, const char *id)
{
    AFTER_INIT(cuDeviceGetByPCIBusId(out, id));
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int of, int peer)
{
    AFTER_INIT(cuDeviceCanAccessPeer(can, of, peer));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute what, int of, int peer)
{
    AFTER_INIT(cuDeviceGetP2PAttribute(value, what, of, peer));
}

/* Returns the context of a peer, which stays retained. */
static CUresult context_of(int peer, CUcontext *context)
{
    int count = 0;
    CUresult result = runtime_begin();
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetCount(&count);
    if (result == CUDA_SUCCESS && (peer < 0 || peer >= count || peer >= RUNTIME_DEVICES_MAX))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&lock);
    if (!contexts[peer])
        result = cuDevicePrimaryCtxRetain(&contexts[peer], peer);
    *context = contexts[peer];
    pthread_mutex_unlock(&lock);
    return result;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    CUcontext context = NULL;
    CUresult result = context_of(peer, &context);
    return runtime_end(result == CUDA_SUCCESS ? cuCtxEnablePeerAccess(context, flags) : result);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    CUcontext context = NULL;
    CUresult result = context_of(peer, &context);
    return runtime_end(result == CUDA_SUCCESS ? cuCtxDisablePeerAccess(context) : result);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int of)
{
    AFTER_INIT(cuDeviceGetDefaultMemPool(pool, of));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int of)
{
    AFTER_INIT(cuDeviceGetMemPool(pool, of));
}

cudaError_t cudaDeviceSetMemPool(int of, cudaMemPool_t pool)
{
    AFTER_INIT(cuDeviceSetMemPool(of, pool));
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return runtime_end(cuDriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return runtime_fail(cudaErrorInvalidValue);
    *version = RUNG_CUDART_MAJOR == 11 ? 11080 : RUNG_CUDART_MAJOR == 12 ? 12090 : 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, CUdriverProcAddressQueryResult *status)
{
    return runtime_end(cuGetProcAddress_v2(symbol, function, (int)version, flags, status));
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    CUdriverProcAddressQueryResult *status)
{
    int version = 0;
    cudaRuntimeGetVersion(&version);
#if RUNG_CUDART_MAJOR < 12
    (void)status; /* CUDA 11 has three arguments */
    return runtime_end(cuGetProcAddress(symbol, function, version, flags));
#else
    return cudaGetDriverEntryPointByVersion(symbol, function, (unsigned)version, flags, status);
#endif
}

cudaError_t cudaGetExportTable(const void **table, const CUuuid *id)
{
    return runtime_end(cuGetExportTable(table, id));
}

cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    IN_CONTEXT(cuCtxResetPersistingL2Cache());
}
