/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_driver.h - libcuda, NVIDIA's driver, loaded at run time, as one table of functions.
 *
 * The declarations that are needed are here, so that building needs no CUDA header. A test compares each of them with
 * NVIDIA's cuda.h. Created and released objects are counted, because leak checkers do not see leaked driver objects. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rung/rung.h"

/* The driver's types. Enums of cuda.h are unsigned int, or int if they are only arguments. */
typedef unsigned int rungi_cu_result;
typedef int rungi_cu_device;
typedef unsigned long long rungi_cu_pointer;
typedef struct CUctx_st *rungi_cu_context;
typedef struct CUstream_st *rungi_cu_stream;
typedef struct CUevent_st *rungi_cu_event;
typedef struct CUmod_st *rungi_cu_module;
typedef struct CUfunc_st *rungi_cu_function;
struct CUtensorMap_st; /* 128 bytes, aligned to 64 */

/* Name in the table, versioned symbol, CUDA version of the first driver that has the function (0: all supported drivers
 * have it, and it is required), and arguments. */
/* clang-format off */
#define RUNGI_CU_FUNCTION_LIST(X)                                                                 \
    X(GetErrorName, cuGetErrorName, 0, (rungi_cu_result, const char **))                          \
    X(GetErrorString, cuGetErrorString, 0, (rungi_cu_result, const char **))                      \
    X(Init, cuInit, 0, (unsigned int flags))                                                      \
    X(DriverGetVersion, cuDriverGetVersion, 0, (int *version))                                    \
    X(DeviceGetCount, cuDeviceGetCount, 0, (int *count))                                          \
    X(DeviceGet, cuDeviceGet, 0, (rungi_cu_device *device, int ordinal))                          \
    X(DeviceGetName, cuDeviceGetName, 0, (char *name, int length, rungi_cu_device))               \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, 0, (size_t *bytes, rungi_cu_device))                   \
    X(DeviceGetAttribute, cuDeviceGetAttribute, 0, (int *value, unsigned int what, rungi_cu_device)) \
    X(PrimaryCtxRetain, cuDevicePrimaryCtxRetain, 0, (rungi_cu_context *, rungi_cu_device))       \
    X(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 0, (rungi_cu_device))                      \
    X(CtxPushCurrent, cuCtxPushCurrent_v2, 0, (rungi_cu_context))                                 \
    X(CtxPopCurrent, cuCtxPopCurrent_v2, 0, (rungi_cu_context *))                                 \
    X(CtxGetDevice, cuCtxGetDevice, 0, (rungi_cu_device *))                                       \
    X(StreamCreate, cuStreamCreate, 0, (rungi_cu_stream *, unsigned int flags))                   \
    X(StreamDestroy, cuStreamDestroy_v2, 0, (rungi_cu_stream))                                    \
    X(StreamGetCtx, cuStreamGetCtx, 0, (rungi_cu_stream, rungi_cu_context *))                     \
    X(StreamSynchronize, cuStreamSynchronize, 0, (rungi_cu_stream))                               \
    X(StreamIsCapturing, cuStreamIsCapturing, 0, (rungi_cu_stream, unsigned int *status))         \
    X(StreamWaitEvent, cuStreamWaitEvent, 0, (rungi_cu_stream, rungi_cu_event, unsigned int flags)) \
    X(EventCreate, cuEventCreate, 0, (rungi_cu_event *, unsigned int flags))                      \
    X(EventDestroy, cuEventDestroy_v2, 0, (rungi_cu_event))                                       \
    X(EventRecord, cuEventRecord, 0, (rungi_cu_event, rungi_cu_stream))                           \
    X(EventQuery, cuEventQuery, 0, (rungi_cu_event))                                              \
    X(EventSynchronize, cuEventSynchronize, 0, (rungi_cu_event))                                  \
    X(EventElapsedTime, cuEventElapsedTime, 0, (float *milliseconds, rungi_cu_event start, rungi_cu_event end)) \
    X(MemAlloc, cuMemAlloc_v2, 0, (rungi_cu_pointer *, size_t bytes))                             \
    X(MemFree, cuMemFree_v2, 0, (rungi_cu_pointer))                                               \
    X(MemAllocAsync, cuMemAllocAsync, 11020, (rungi_cu_pointer *, size_t bytes, rungi_cu_stream)) \
    X(MemFreeAsync, cuMemFreeAsync, 11020, (rungi_cu_pointer, rungi_cu_stream))                   \
    X(MemHostAlloc, cuMemHostAlloc, 0, (void **memory, size_t bytes, unsigned int flags))         \
    X(MemFreeHost, cuMemFreeHost, 0, (void *memory))                                              \
    X(MemGetAddressRange, cuMemGetAddressRange_v2, 0, (rungi_cu_pointer *base, size_t *bytes, rungi_cu_pointer)) \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 0, (rungi_cu_pointer, const void *from, size_t bytes, rungi_cu_stream)) \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 0, (void *to, rungi_cu_pointer, size_t bytes, rungi_cu_stream)) \
    X(ModuleLoadDataEx, cuModuleLoadDataEx, 0, (rungi_cu_module *, const void *image, unsigned int count, unsigned int *options, void **values)) \
    X(ModuleUnload, cuModuleUnload, 0, (rungi_cu_module))                                         \
    X(ModuleGetFunction, cuModuleGetFunction, 0, (rungi_cu_function *, rungi_cu_module, const char *name)) \
    X(FuncGetAttribute, cuFuncGetAttribute, 0, (int *value, unsigned int what, rungi_cu_function)) \
    X(FuncSetAttribute, cuFuncSetAttribute, 0, (rungi_cu_function, unsigned int what, int value))  \
    X(TensorMapEncodeTiled, cuTensorMapEncodeTiled, 12000, (struct CUtensorMap_st *, unsigned int type, uint32_t rank, void *address, const uint64_t *sizes, const uint64_t *strides, const uint32_t *box, const uint32_t *steps, unsigned int interleave, unsigned int swizzle, unsigned int promotion, unsigned int fill)) \
    X(LaunchKernel, cuLaunchKernel, 0, (rungi_cu_function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, rungi_cu_stream, void **arguments, void **extra))
/* clang-format on */

/* The constants of cuda.h that are used. The test compares them, too. */
/* clang-format off */
#define RUNGI_CU_CONSTANT_LIST(X)                                     \
    X(DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                    \
    X(DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                           \
    X(DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)              \
    X(DEVICE_ATTRIBUTE_WARP_SIZE, 10)                               \
    X(DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12)                 \
    X(DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                              \
    X(DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                    \
    X(DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                       \
    X(DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                 \
    X(DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                           \
    X(DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)          \
    X(DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                \
    X(DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                \
    X(DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)    \
    X(DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)        \
    X(DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)       \
    X(DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115)                 \
    X(FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                      \
    X(FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                          \
    X(FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                           \
    X(FUNC_ATTRIBUTE_NUM_REGS, 4)                                   \
    X(FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)              \
    X(FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)           \
    X(JIT_ERROR_LOG_BUFFER, 5)                                      \
    X(JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)                           \
    X(TENSOR_MAP_DATA_TYPE_UINT8, 0)                                \
    X(TENSOR_MAP_DATA_TYPE_UINT16, 1)                               \
    X(TENSOR_MAP_INTERLEAVE_NONE, 0)                                \
    X(TENSOR_MAP_SWIZZLE_128B, 3)                                   \
    X(TENSOR_MAP_L2_PROMOTION_L2_128B, 2)                           \
    X(TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0)                            \
    X(STREAM_NON_BLOCKING, 1)                                       \
    X(EVENT_DEFAULT, 0)
/* clang-format on */

enum {
#define X(name, value) RUNGI_CU_##name = value,
    RUNGI_CU_CONSTANT_LIST(X)
#undef X
};

/* Kinds of objects that are counted. */
typedef enum rungi_cu_kind {
    RUNGI_CU_CONTEXT,
    RUNGI_CU_STREAM,
    RUNGI_CU_EVENT,
    RUNGI_CU_MEMORY,
    RUNGI_CU_HOST_MEMORY,
    RUNGI_CU_MODULE,
    RUNGI_CU_KINDS
} rungi_cu_kind;

typedef struct rungi_cu {
    void *library;
    int version;       /* the driver's CUDA version, 12040 for 12.4 */
    bool executes_ptx; /* and no cubins: the driver of librung-emulator */
    atomic_long live[RUNGI_CU_KINDS];
#define X(name, symbol, since, arguments) rungi_cu_result(*name) arguments;
    RUNGI_CU_FUNCTION_LIST(X)
#undef X
} rungi_cu;

/* The oldest supported driver: its CUDA version and its number. */
enum { RUNGI_CU_VERSION_MIN = 12000 };
#define RUNGI_CU_DRIVER_MIN "525"

/* Fills the table and initializes the driver. The error text names what is missing. */
rung_status rungi_cu_load(rungi_cu *cu);

/* Counts an object of this kind that was created (1) or released (-1). */
void rungi_cu_track(rungi_cu *cu, rungi_cu_kind kind, int change);

/* Returns whether the context is unusable after this error. */
bool rungi_cu_is_sticky(rungi_cu_result error);

/* Returns RUNG_OK if a driver function returned 0. Otherwise sets the error text, with the driver's name of the error, and
 * returns the status. */
rung_status rungi_cu_check(rungi_cu *cu, rungi_cu_result error, const char *function);

/* Calls a function of the driver and checks its result: RUNGI_CU_CALL(cu, DeviceGetCount, &count). */
#define RUNGI_CU_CALL(cu, name, ...) rungi_cu_check(cu, (cu)->name(__VA_ARGS__), "cu" #name)
