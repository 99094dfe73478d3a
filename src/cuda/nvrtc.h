/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.h - NVRTC, NVIDIA's compiler as a library, for code that is not embedded. */
#pragma once

#include <stdbool.h>

#include "core/context.h"

typedef struct nvrtc_program rungi_nvrtc_program;

/* The functions of NVRTC (version 12 and later) that are used. They return 0 for success. */
/* clang-format off */
#define RUNGI_NVRTC_FUNCTION_LIST(X)                                                              \
    X(version, "nvrtcVersion", (int *major, int *minor))                                          \
    X(create, "nvrtcCreateProgram", (rungi_nvrtc_program **, const char *source, const char *name, \
      int headers, const char *const *texts, const char *const *names))                           \
    X(compile, "nvrtcCompileProgram", (rungi_nvrtc_program *, int count, const char *const *options)) \
    X(log_size, "nvrtcGetProgramLogSize", (rungi_nvrtc_program *, size_t *))                      \
    X(log, "nvrtcGetProgramLog", (rungi_nvrtc_program *, char *))                                 \
    X(cubin_size, "nvrtcGetCUBINSize", (rungi_nvrtc_program *, size_t *))                         \
    X(cubin, "nvrtcGetCUBIN", (rungi_nvrtc_program *, char *))                                    \
    X(ptx_size, "nvrtcGetPTXSize", (rungi_nvrtc_program *, size_t *))                             \
    X(ptx, "nvrtcGetPTX", (rungi_nvrtc_program *, char *))                                        \
    X(architecture_count, "nvrtcGetNumSupportedArchs", (int *))                                   \
    X(architectures, "nvrtcGetSupportedArchs", (int *))                                           \
    X(destroy, "nvrtcDestroyProgram", (rungi_nvrtc_program **))
/* clang-format on */

typedef struct rungi_nvrtc {
    void *library; /* NULL if not installed */
    int major, minor;
#define X(name, symbol, arguments) int(*name) arguments;
    RUNGI_NVRTC_FUNCTION_LIST(X)
#undef X
} rungi_nvrtc;

/* The CUDA version to pass if there is no driver and the code will not run. */
enum { RUNGI_NVRTC_ANY_DRIVER = 99000 };

/* Loads the newest NVRTC whose code works with a driver of this CUDA version, preferably one that supports the
 * architecture; version 13 dropped old ones. Returns false if there is none. */
bool rungi_nvrtc_load(rungi_nvrtc *nvrtc, int driver_version, int architecture);

/* Loads NVRTC from one file. */
bool rungi_nvrtc_load_from(rungi_nvrtc *nvrtc, void *library);

/* Returns the newest supported architecture that is not newer than `architecture`, or 0. */
int rungi_nvrtc_best_architecture(const rungi_nvrtc *nvrtc, int architecture);

/* The compiler's report about a cubin: registers per thread, static shared memory per block, and bytes of spill stores
 * and loads. */
typedef struct rungi_nvrtc_report {
    int64_t registers, shared_bytes, spill_bytes;
} rungi_nvrtc_report;

/* A compilation. `defines` has the form "-DNAME=1 -DOTHER=2". */
typedef struct rungi_nvrtc_job {
    const char *file, *source, *defines;
    int architecture;
    bool to_ptx;                /* otherwise to a cubin for exactly this architecture */
    bool has_line_info;         /* always with a report */
    rungi_nvrtc_report *report; /* of a cubin: filled unless NULL */
    void **ptx;                 /* receives the PTX of a cubin, too, unless NULL; the caller releases it */
    size_t *ptx_bytes;
} rungi_nvrtc_job;

/* Returns the code, which the caller releases. The size of PTX includes its terminating zero. */
rung_status rungi_nvrtc_compile(rung_context *context, const rungi_nvrtc *nvrtc, const rungi_nvrtc_job *job,
                                void **code, size_t *bytes);
