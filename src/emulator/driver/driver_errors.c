/* SPDX-License-Identifier: Apache-2.0 */
/* driver_errors.c - names and descriptions of errors. */
#include "emulator/driver/driver.h"

/* clang-format off */
#define ERROR_LIST(X)                                                                  \
    X(CUDA_SUCCESS, "no error")                                                        \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                    \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                       \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                              \
    X(CUDA_ERROR_DEINITIALIZED, "driver shutting down")                                \
    X(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library")                        \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable") \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                      \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                             \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                      \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                            \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device") \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered")             \
    X(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed")                          \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, "uncorrectable NVLink error detected during the execution") \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain.") \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found")         \
    X(CUDA_ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled")         \
    X(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid")                     \
    X(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS") \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                            \
    X(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state") \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                  \
    X(CUDA_ERROR_NOT_READY, "device not ready")                                        \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")          \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")   \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")            \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process") \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                         \
    X(CUDA_ERROR_ASSERT, "device-side assert triggered")                               \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error")                         \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")        \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                             \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space") \
    X(CUDA_ERROR_INVALID_PC, "invalid program counter")                                \
    X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                          \
    X(CUDA_ERROR_NOT_PERMITTED, "operation not permitted")                             \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                             \
    X(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized")                       \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing") \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began") \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "operation would make the legacy stream depend on a capturing blocking stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "attempt to terminate a thread-local capture sequence from another thread") \
    X(CUDA_ERROR_UNKNOWN, "unknown error")
/* clang-format on */

static CUresult look_up(CUresult error, const char **name, const char **text)
{
    switch (error) {
#define X(code, words) \
    case code:         \
        *name = #code; \
        *text = words; \
        return CUDA_SUCCESS;
        ERROR_LIST(X)
#undef X
    default:
        *name = NULL;
        *text = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
    const char *text;
    return name ? look_up(error, name, &text) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    const char *name;
    return text ? look_up(error, &name, text) : CUDA_ERROR_INVALID_VALUE;
}
