/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_table.h - libOpenCL, opened at run time, as one table: what the emulated driver runs on. */
#ifndef EMULATED_OPENCL_TABLE_H
#define EMULATED_OPENCL_TABLE_H

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <stdbool.h>

/* clang-format off */
#define EMULATED_CL_LIST(X)                                                                       \
    X(GetPlatformIDs) X(GetDeviceIDs) X(GetDeviceInfo) X(CreateContext)                          \
    X(CreateCommandQueueWithProperties) X(RetainCommandQueue) X(ReleaseCommandQueue)             \
    X(SVMAlloc) X(SVMFree) X(EnqueueSVMMemcpy) X(EnqueueSVMFree)                                 \
    X(CreateProgramWithSource) X(BuildProgram) X(GetProgramBuildInfo) X(ReleaseProgram)          \
    X(CreateKernel) X(ReleaseKernel) X(GetKernelInfo) X(SetKernelArg) X(SetKernelArgSVMPointer)  \
    X(EnqueueNDRangeKernel) X(EnqueueNativeKernel)                                               \
    X(EnqueueMarkerWithWaitList) X(EnqueueBarrierWithWaitList)                                   \
    X(Flush) X(Finish) X(WaitForEvents) X(GetEventInfo) X(GetEventProfilingInfo)                 \
    X(RetainEvent) X(ReleaseEvent)
/* clang-format on */

/* One context for the whole process, so that a pointer is a pointer everywhere, as with
 * CUDA's unified addresses. */
typedef struct opencl_table {
    cl_device_id device;
    cl_context context;
#define X(name) __typeof__(cl##name) *name;
    EMULATED_CL_LIST(X)
#undef X
} opencl_table_t;

extern opencl_table_t cl;

/* Opens the first device with shared virtual memory; false if there is none. */
bool opencl_open(void);

#endif /* EMULATED_OPENCL_TABLE_H */
