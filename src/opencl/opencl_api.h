/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_api.h - libOpenCL, loaded at run time, as one table of functions.
 *
 * Created and released objects are counted only here, because leak checkers do not see leaked driver objects. */
#ifndef RUNGI_OPENCL_API_H
#define RUNGI_OPENCL_API_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdatomic.h>

#include "rung/rung.h"

/* All functions that are called. They exist since OpenCL 1.2. */
/* clang-format off */
#define RUNGI_CL_FUNCTION_LIST(X)                                                                 \
    X(GetPlatformIDs) X(GetPlatformInfo) X(GetDeviceIDs) X(GetDeviceInfo)                         \
    X(CreateContext) X(RetainContext) X(ReleaseContext) X(GetContextInfo)                         \
    X(CreateCommandQueue) X(RetainCommandQueue) X(ReleaseCommandQueue) X(GetCommandQueueInfo)     \
    X(CreateBuffer) X(RetainMemObject) X(ReleaseMemObject) X(GetMemObjectInfo)                    \
    X(EnqueueReadBuffer) X(EnqueueWriteBuffer) X(EnqueueMarkerWithWaitList)                       \
    X(EnqueueMapBuffer) X(EnqueueUnmapMemObject)                                                  \
    X(CreateProgramWithSource) X(BuildProgram) X(GetProgramBuildInfo) X(ReleaseProgram)           \
    X(CreateKernel) X(SetKernelArg) X(GetKernelInfo) X(GetKernelWorkGroupInfo) X(ReleaseKernel)   \
    X(EnqueueNDRangeKernel) X(Flush) X(Finish) X(WaitForEvents)                                   \
    X(GetEventInfo) X(GetEventProfilingInfo) X(RetainEvent) X(ReleaseEvent)
/* clang-format on */

/* Kinds of objects that are counted. */
typedef enum rungi_cl_kind {
    RUNGI_CL_CONTEXT,
    RUNGI_CL_QUEUE,
    RUNGI_CL_BUFFER,
    RUNGI_CL_EVENT,
    RUNGI_CL_PROGRAM,
    RUNGI_CL_KERNEL,
    RUNGI_CL_KINDS
} rungi_cl_kind;

typedef struct rungi_cl {
    void *library;
    atomic_long live[RUNGI_CL_KINDS];
#define X(name) __typeof__(cl##name) *name;
    RUNGI_CL_FUNCTION_LIST(X)
#undef X
} rungi_cl;

/* Fills the table. The error text names a missing library or function. */
rung_status rungi_cl_load(rungi_cl *cl);
void rungi_cl_unload(rungi_cl *cl);

/* Counts an object of this kind that was created or retained. */
void rungi_cl_track(rungi_cl *cl, rungi_cl_kind kind);

/* Release an object and count it. NULL is allowed. */
void rungi_cl_release_context(rungi_cl *cl, cl_context context);
void rungi_cl_release_queue(rungi_cl *cl, cl_command_queue queue);
void rungi_cl_release_buffer(rungi_cl *cl, cl_mem buffer);
void rungi_cl_release_event(rungi_cl *cl, cl_event event);
void rungi_cl_release_program(rungi_cl *cl, cl_program program);
void rungi_cl_release_kernel(rungi_cl *cl, cl_kernel kernel);

/* Sets the error text for an error of an OpenCL function, and returns the status. */
rung_status rungi_cl_fail(cl_int error, const char *function);

/* The same for functions that wait for work. */
rung_status rungi_cl_fail_waiting(cl_int error, const char *function);

#endif /* RUNGI_OPENCL_API_H */
