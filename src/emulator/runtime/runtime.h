/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - a libcudart.so on the emulated driver: the CUDA runtime for programs that nvcc linked with -cudart shared.
 *
 * The library is compiled once per major version of CUDA, with RUNG_CUDART_MAJOR 11, 12 or 13: some functions and
 * structures differ. All work is done by functions of the driver (emulator/driver). Its own tasks are the current device,
 * the last error of a thread, and the kernels and variables that a program registers when it starts.
 *
 * Programs that contain NVIDIA's static runtime load this library with LD_PRELOAD; see runtime_static.c. */
#pragma once

#include <stdbool.h>

#include "emulator/driver/cuda_api.h"

typedef int cudaError_t;

enum cudaErrors {
#define CUDA_ERROR_CODE(number, driver, runtime, text) runtime = number,
#define RUNTIME_ERROR_CODE(number, runtime, text) runtime = number,
#include "emulator/driver/cuda_errors.def"
#undef CUDA_ERROR_CODE
};

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUfunction cudaFunction_t;
typedef struct runtime_function *cudaKernel_t;
typedef CUmemLocation cudaMemLocation;

typedef enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
} cudaMemcpyKind;

typedef struct cudaExtent {
    size_t width, height, depth;
} cudaExtent;

typedef struct cudaPos {
    size_t x, y, z;
} cudaPos;

typedef struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
} cudaPitchedPtr;

typedef struct cudaMemcpy3DParms {
    void *srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    void *dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
} cudaMemcpy3DParms;

typedef struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

typedef struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
#if RUNG_CUDART_MAJOR >= 12
    int clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth;
    int clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
#endif
} cudaFuncAttributes;

typedef struct cudaPointerAttributes {
    int type, device;
    void *devicePointer, *hostPointer;
#if RUNG_CUDART_MAJOR >= 13
    long reserved[8];
#endif
} cudaPointerAttributes;

typedef struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
} cudaKernelNodeParams;

typedef struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
} cudaMemsetParams;

/* Fields between BEFORE_13 and its end were removed in CUDA 13. Fields from hostRegisterSupported on are new in CUDA 12. */
typedef struct cudaDeviceProp {
    char name[256], uuid[16], luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
#if RUNG_CUDART_MAJOR < 13
    int clockRate;
#endif
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
#if RUNG_CUDART_MAJOR < 13
    int deviceOverlap;
#endif
    int multiProcessorCount;
#if RUNG_CUDART_MAJOR < 13
    int kernelExecTimeoutEnabled;
#endif
    int integrated, canMapHostMemory;
#if RUNG_CUDART_MAJOR < 13
    int computeMode;
#endif
    int maxTexture1D, maxTexture1DMipmap;
#if RUNG_CUDART_MAJOR < 13
    int maxTexture1DLinear;
#endif
    int maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3];
    int maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2];
    int maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing;
#if RUNG_CUDART_MAJOR < 13
    int memoryClockRate;
#endif
    int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
#if RUNG_CUDART_MAJOR < 13
    int singleToDoublePrecisionPerfRatio;
#endif
    int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch;
#if RUNG_CUDART_MAJOR < 13
    int cooperativeMultiDeviceLaunch;
#endif
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
#if RUNG_CUDART_MAJOR >= 12
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int reserved[63]; /* CUDA 13 uses the first seven */
#endif
} cudaDeviceProp;

/* ---- Functions -------------------------------------------------------------------------------- */

#pragma GCC visibility push(default)
#define RUNTIME_FUNCTION(name, arguments) cudaError_t name arguments;
#include "emulator/runtime/runtime_functions.def"
#undef RUNTIME_FUNCTION
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
/* The functions that nvcc calls from the programs that it compiles. */
// NOLINTBEGIN(bugprone-reserved-identifier): the names are given by nvcc
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, dim3 *block_size, dim3 *grid_size, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_external, size_t bytes,
                       int is_constant, int is_global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int is_external, size_t bytes,
                              int is_constant, int is_global);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes);
void __cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name, int dimensions,
                           int is_normalized, int is_external);
void __cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name, int dimensions,
                           int is_external);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);
// NOLINTEND(bugprone-reserved-identifier)
#pragma GCC visibility pop

/* ---- Inside the library (runtime_state.c, runtime_code.c) ------------------------------------------ */

enum { RUNTIME_DEVICES_MAX = 64 };

/* Makes the current device usable: every function that needs a device begins with it. */
CUresult runtime_begin(void);
/* Records an error as the last one of the thread, and returns it. */
cudaError_t runtime_end(CUresult result);
cudaError_t runtime_fail(cudaError_t error);
int runtime_device(void);
/* Forgets the modules of a device after a reset. */
void runtime_forget_modules(int device);

/* Finds the function of a kernel, by the address of its host function or by its handle. */
CUresult runtime_find_function(const void *host, CUfunction *function);
/* Finds a variable by its address on the host. */
CUresult runtime_find_variable(const void *host, CUdeviceptr *address, size_t *bytes);

/* Calls a function of the driver after cuInit, or with a current context. */
#define AFTER_INIT(call)                                                \
    do {                                                                \
        CUresult result_ = cuInit(0);                                   \
        return runtime_end(result_ == CUDA_SUCCESS ? (call) : result_); \
    } while (0)
#define IN_CONTEXT(call)                                                \
    do {                                                                \
        CUresult result_ = runtime_begin();                             \
        return runtime_end(result_ == CUDA_SUCCESS ? (call) : result_); \
    } while (0)
