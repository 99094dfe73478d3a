/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_driver.c - loads libcuda, counts its objects for tests, and describes its errors. */
#include "cuda/cuda_driver.h"

#include "base/error.h"
#include "cuda/cuda_library_paths.h"

/* ---- Loading --------------------------------------------------------------------------------- */

static rung_status find_function(rungi_cu *cu, const char *name, int since, void *slot, size_t size)
{
    if (!rungi_library_symbol(cu->library, name, slot, size) && since == 0)
        return rungi_fail(RUNG_STATUS_NO_DEVICE,
                          "libcuda.so.1 has no %s: it is not an NVIDIA driver, or is older "
                          "than " RUNGI_CU_DRIVER_MIN "; install a newer one",
                          name);
    return RUNG_OK;
}

static rung_status find_functions(rungi_cu *cu)
{
    rung_status status = RUNG_OK;
#define X(name, symbol, since, arguments) \
    if (status == RUNG_OK)                \
        status = find_function(cu, #symbol, since, &cu->name, sizeof cu->name);
    RUNGI_CU_FUNCTION_LIST(X)
#undef X
    return status;
}

static rung_status start(rungi_cu *cu)
{
    rungi_cu_result error = cu->Init(0);
    if (error != 0)
        return rungi_cu_fail(cu, error, "cuInit");
    error = cu->DriverGetVersion(&cu->version);
    if (error != 0)
        return rungi_cu_fail(cu, error, "cuDriverGetVersion");
    if (cu->version < RUNGI_CU_VERSION_MIN)
        return rungi_fail(RUNG_STATUS_NO_DEVICE,
                          "the NVIDIA driver supports CUDA %d.%d; install a driver for CUDA %d.%d or "
                          "later (driver " RUNGI_CU_DRIVER_MIN ")",
                          cu->version / 1000, cu->version % 1000 / 10, RUNGI_CU_VERSION_MIN / 1000,
                          RUNGI_CU_VERSION_MIN % 1000 / 10);
    return RUNG_OK;
}

rung_status rungi_cu_load(rungi_cu *cu)
{
    /* It stays loaded: drivers have threads and exit handlers that must not lose their
     * code. Opening it again gives the same one. */
    cu->library = rungi_library_open_file("libcuda.so.1", false);
    if (!cu->library)
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "libcuda.so.1 was not found; for an NVIDIA GPU install its driver "
                                                 "(" RUNGI_CU_DRIVER_MIN " or later)");
    rung_status status = find_functions(cu);
    return status == RUNG_OK ? start(cu) : status;
}

void rungi_cu_track(rungi_cu *cu, rungi_cu_kind kind, int change)
{
    atomic_fetch_add(&cu->live[kind], change);
}

/* ---- Errors ------------------------------------------------------------------------------------ */

#define USE_LESS "use smaller matrices, or free other buffers of the device"
#define REOPEN                                                                           \
    "close the device and open it again; if other code of this process holds it, start " \
    "the process again"
#define NEWER "install a newer driver (" RUNGI_CU_DRIVER_MIN " or later)"

/* Error codes: number, status, and advice. After an error with status DEVICE_LOST the context is unusable. */
/* clang-format off */
#define RUNGI_CU_ERROR_LIST(X)                                                                     \
    X(1, INVALID, "an argument is out of range")                                                   \
    X(2, NO_MEMORY, USE_LESS)                                                                      \
    X(3, NO_DEVICE, "the driver works neither before it was started nor in a forked child; fork "  \
                    "before the first use of CUDA")                                                \
    X(4, NO_DEVICE, "the process is ending")                                                       \
    X(34, NO_DEVICE, "libcuda.so.1 is a stub for building; take its folder out of the library path") \
    X(36, NO_DEVICE, NEWER)                                                                        \
    X(46, NO_DEVICE, "another process holds the GPU alone")                                        \
    X(100, NO_DEVICE, "the driver sees no GPU; try nvidia-smi, and look at CUDA_VISIBLE_DEVICES")  \
    X(101, NO_DEVICE, "there is no such GPU")                                                      \
    X(200, COMPILE_FAILED, "the code is damaged")                                                         \
    X(201, INVALID, "the CUcontext is not one, or was destroyed")                                  \
    X(209, COMPILE_FAILED, "the code is for another architecture")                                        \
    X(214, DEVICE_LOST, REOPEN)                                                                    \
    X(218, COMPILE_FAILED, "the driver's compiler does not take the PTX")                                 \
    X(220, DEVICE_LOST, REOPEN)                                                                    \
    X(221, COMPILE_FAILED, "the driver's PTX compiler (libnvidia-ptxjitcompiler) is missing")             \
    X(222, COMPILE_FAILED, "the PTX is newer than the driver; " NEWER)                                    \
    X(223, COMPILE_FAILED, "compiling PTX is turned off; unset CUDA_DISABLE_PTX_JIT")                     \
    X(226, DEVICE_LOST, REOPEN)                                                                    \
    X(400, INVALID, "not a stream, event or memory of this CUcontext")                             \
    X(500, COMPILE_FAILED, "the code has no kernel of that name")                                         \
    X(600, INVALID, "the work is not done yet")                                                    \
    X(700, DEVICE_LOST, REOPEN)                                                                    \
    X(701, UNSUPPORTED, "the kernel needs more registers or shared memory than a block can have")  \
    X(702, DEVICE_LOST, REOPEN)                                                                    \
    X(709, DEVICE_LOST, REOPEN)                                                                    \
    X(710, DEVICE_LOST, REOPEN)                                                                    \
    X(714, DEVICE_LOST, REOPEN)                                                                    \
    X(715, DEVICE_LOST, REOPEN)                                                                    \
    X(716, DEVICE_LOST, REOPEN)                                                                    \
    X(717, DEVICE_LOST, REOPEN)                                                                    \
    X(718, DEVICE_LOST, REOPEN)                                                                    \
    X(719, DEVICE_LOST, REOPEN)                                                                    \
    X(800, UNSUPPORTED, "it is not permitted here")                                                \
    X(801, UNSUPPORTED, "the GPU or its driver cannot do it")                                      \
    X(802, NO_DEVICE, "the system's drivers are still starting")                                   \
    X(803, NO_DEVICE, "the driver's kernel module and libcuda differ; restart the machine")        \
    X(804, NO_DEVICE, NEWER)                                                                       \
    X(900, UNSUPPORTED, "it cannot be captured in a graph")                                        \
    X(901, UNSUPPORTED, "the capture of a graph failed before")                                    \
    X(902, UNSUPPORTED, "it would join two captures of graphs")                                    \
    X(905, UNSUPPORTED, "an event of a captured stream was used outside the capture")              \
    X(906, UNSUPPORTED, "the default stream cannot be used while a graph is captured")             \
    X(907, UNSUPPORTED, "the event was captured in a graph and cannot be waited for")              \
    X(999, DEVICE_LOST, REOPEN)
/* clang-format on */

/* Returns the status of a code, or RUNG_OK if the code is not listed. */
static rung_status status_of(rungi_cu_result error)
{
    switch (error) {
#define X(code, status, advice) \
    case code: return RUNG_STATUS_##status;
        RUNGI_CU_ERROR_LIST(X)
#undef X
    }
    return RUNG_OK;
}

bool rungi_cu_is_sticky(rungi_cu_result error)
{
    return status_of(error) == RUNG_STATUS_DEVICE_LOST;
}

rung_status rungi_cu_fail(rungi_cu *cu, rungi_cu_result error, const char *function)
{
    const char *name = NULL, *words = NULL, *advice = "the CUDA driver API's manual says more of it";
    rung_status status = status_of(error);
    switch (error) {
#define X(code, its_status, its_advice) \
    case code: advice = its_advice; break;
        RUNGI_CU_ERROR_LIST(X)
#undef X
    }
    if (status == RUNG_OK)
        status = RUNG_STATUS_UNSUPPORTED;
    if (cu->GetErrorName(error, &name) != 0 || !name)
        name = "an error that the driver has no name for";
    if (cu->GetErrorString(error, &words) != 0 || !words)
        words = "no words";
    return rungi_fail(status, "%s: %s (%u, %s): %s", function, name, error, words, advice);
}
