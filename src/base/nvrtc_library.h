/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_library.h - NVRTC, NVIDIA's compiler as a library, loaded at run time, as one table of functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct nvrtc_program rungi_nvrtc_program;

/* The functions of NVRTC (version 12 and later) that are used. They return 0 for success. */
/* clang-format off */
#define RUNGI_NVRTC_FUNCTION_LIST(X)                                                              \
    X(version, "nvrtcVersion", (int *major, int *minor))                                          \
    X(create, "nvrtcCreateProgram", (rungi_nvrtc_program **, const char *source, const char *name, \
      int headers, const char *const *texts, const char *const *names))                           \
    X(add_name, "nvrtcAddNameExpression", (rungi_nvrtc_program *, const char *name))              \
    X(compile, "nvrtcCompileProgram", (rungi_nvrtc_program *, int count, const char *const *options)) \
    X(log_size, "nvrtcGetProgramLogSize", (rungi_nvrtc_program *, size_t *))                      \
    X(log, "nvrtcGetProgramLog", (rungi_nvrtc_program *, char *))                                 \
    X(lowered_name, "nvrtcGetLoweredName", (rungi_nvrtc_program *, const char *name, const char **lowered)) \
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

/* Returns the command that installs NVRTC. */
const char *rungi_nvrtc_install_hint(void);

/* Loads the newest NVRTC whose code works with a driver of this CUDA version, preferably one that supports the
 * architecture; version 13 dropped old ones. Returns false if NVRTC was not found. */
bool rungi_nvrtc_load(rungi_nvrtc *nvrtc, int driver_version, int architecture);

/* Loads NVRTC from one file. */
bool rungi_nvrtc_load_from(rungi_nvrtc *nvrtc, void *library);

/* Returns the newest supported architecture that is not newer than `architecture`, or 0. */
int rungi_nvrtc_best_architecture(const rungi_nvrtc *nvrtc, int architecture);
