/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_api.h - libOpenCL, loaded at run time, as one table of functions.
 *
 * Created and released objects are counted only here, because leak checkers do not see leaked driver objects. */
#pragma once

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

/* Kinds of objects that are counted: lower-case and upper-case name, type, and the function that releases an object. */
/* clang-format off */
#define RUNGI_CL_KIND_LIST(X)                                  \
    X(context, CONTEXT, cl_context, ReleaseContext)            \
    X(queue, QUEUE, cl_command_queue, ReleaseCommandQueue)     \
    X(buffer, BUFFER, cl_mem, ReleaseMemObject)                \
    X(event, EVENT, cl_event, ReleaseEvent)                    \
    X(program, PROGRAM, cl_program, ReleaseProgram)            \
    X(kernel, KERNEL, cl_kernel, ReleaseKernel)
/* clang-format on */

#define X(lower, upper, type, release) RUNGI_CL_##upper,
typedef enum rungi_cl_kind { RUNGI_CL_KIND_LIST(X) RUNGI_CL_KINDS } rungi_cl_kind;
#undef X

typedef struct rungi_cl {
    void *library;
    atomic_long live[RUNGI_CL_KINDS];
#define X(name) __typeof__(cl##name) *name;
    RUNGI_CL_FUNCTION_LIST(X)
#undef X
} rungi_cl;

/* Fills the table: with the loader's functions or, if the loader is missing or has no driver, with those of PoCL in a Python
 * environment. The error text names a missing library or function. */
rung_status rungi_cl_load(rungi_cl *cl);

/* Counts an object of this kind that was created or retained. */
void rungi_cl_track(rungi_cl *cl, rungi_cl_kind kind);

/* rungi_cl_release_context() and so on release an object and count it. NULL is allowed. */
#define X(lower, upper, type, release)                                    \
    static inline void rungi_cl_release_##lower(rungi_cl *cl, type lower) \
    {                                                                     \
        if (!lower)                                                       \
            return;                                                       \
        cl->release(lower);                                               \
        atomic_fetch_sub(&cl->live[RUNGI_CL_##upper], 1);                 \
    }
RUNGI_CL_KIND_LIST(X)
#undef X

/* Returns RUNG_OK for CL_SUCCESS. Otherwise sets the error text and returns the status. */
rung_status rungi_cl_check(cl_int error, const char *function);

/* Returns the status of a failure after work was submitted. The work may change the output, so no status may promise that the output
 * is unchanged. */
rung_status rungi_cl_status_submitted(rung_status status);

/* Like rungi_cl_check(), for functions that wait for submitted work. */
rung_status rungi_cl_check_waiting(cl_int error, const char *function);

/* Calls a function of OpenCL and checks its result: RUNGI_CL_CALL(cl, Flush, queue). */
#define RUNGI_CL_CALL(cl, name, ...) rungi_cl_check((cl)->name(__VA_ARGS__), "cl" #name)
