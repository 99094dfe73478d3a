/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - libOpenCL, loaded at run time, as one table of functions.
 *
 * Objects are counted as they are made and released, here and nowhere else: a
 * leak of one is invisible to a leak checker, which sees a driver's memory only. */
#ifndef RUNGI_OPENCL_API_H
#define RUNGI_OPENCL_API_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdatomic.h>

#include "rung/rung.h"

/* Everything that is called, all of it OpenCL 1.2. */
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

/* Fills the table, or says which library or function is missing. */
rung_status rungi_cl_load(rungi_cl *cl);
void rungi_cl_unload(rungi_cl *cl);

/* Notes that an object of this kind was made or retained. */
void rungi_cl_count(rungi_cl *cl, rungi_cl_kind kind);

/* The releasing side of the same; NULL is fine. */
void rungi_cl_release_context(rungi_cl *cl, cl_context context);
void rungi_cl_release_queue(rungi_cl *cl, cl_command_queue queue);
void rungi_cl_release_buffer(rungi_cl *cl, cl_mem buffer);
void rungi_cl_release_event(rungi_cl *cl, cl_event event);
void rungi_cl_release_program(rungi_cl *cl, cl_program program);
void rungi_cl_release_kernel(rungi_cl *cl, cl_kernel kernel);

/* The status and the sentence of an OpenCL error in that function. */
rung_status rungi_cl_fail(cl_int error, const char *function);

/* The same where work is waited for. */
rung_status rungi_cl_fail_waiting(cl_int error, const char *function);

#endif /* RUNGI_OPENCL_API_H */
