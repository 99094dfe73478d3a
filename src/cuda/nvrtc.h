/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.h - NVRTC, NVIDIA's compiler as a library, for code that is not embedded. */
#ifndef RUNGI_CUDA_NVRTC_H
#define RUNGI_CUDA_NVRTC_H

#include <stdbool.h>

#include "core/context.h"

typedef struct nvrtc_program rungi_nvrtc_program;

/* What is used of nvrtc.h, since version 12; results are 0 for success. */
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
    void *library; /* NULL if it is not here */
    int major, minor;
#define X(name, symbol, arguments) int(*name) arguments;
    RUNGI_NVRTC_FUNCTION_LIST(X)
#undef X
} rungi_nvrtc;

/* The version to give where there is no driver, and code will not be run. */
enum { RUNGI_NVRTC_ANY_DRIVER = 99000 };

/* The newest that makes code for a driver of this CUDA version and, if one has it, for this
 * architecture, which versions from 13 on may be too new for; false if there is none. */
bool rungi_nvrtc_load(rungi_nvrtc *nvrtc, int driver_version, int architecture);

/* The same from one library. */
bool rungi_nvrtc_load_from(rungi_nvrtc *nvrtc, void *library);

/* The newest architecture it knows that is not newer than this one; 0 if there is none. */
int rungi_nvrtc_architecture(const rungi_nvrtc *nvrtc, int architecture);

/* What a cubin takes, by the compiler's own report: registers a thread, static shared memory
 * a block, and bytes spilled, stores and loads together. */
typedef struct rungi_nvrtc_report {
    int64_t registers, shared_bytes, spill_bytes;
} rungi_nvrtc_report;

/* What is to be compiled. `defines` are "-DNAME=1 -DOTHER=2". */
typedef struct rungi_nvrtc_job {
    const char *file, *source, *defines;
    int architecture;
    bool to_ptx;                /* else to a cubin of just that architecture */
    rungi_nvrtc_report *report; /* NULL, or to be filled; the cubin then tells lines, too */
} rungi_nvrtc_job;

/* The code, the caller's to release; PTX ends in 0, which counts. */
rung_status rungi_nvrtc_compile(rung_context *context, const rungi_nvrtc *nvrtc, const rungi_nvrtc_job *job,
                                void **code, size_t *bytes);

#endif /* RUNGI_CUDA_NVRTC_H */
