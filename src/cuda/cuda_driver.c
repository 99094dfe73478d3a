/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_driver.c - loads libcuda, counts its objects for tests, and describes its errors. */
#include "cuda/cuda_driver.h"

#include <stdio.h>

#include "base/dynamic_library.h"
#include "base/error.h"
#include "base/try.h"

/* ---- Loading --------------------------------------------------------------------------------- */

static rung_status find_function(rungi_cu *cu, const char *name, int since, void *slot, size_t size)
{
    if (!rungi_library_symbol(cu->library, name, slot, size) && since == 0)
        return rungi_fail(RUNG_STATUS_NO_DEVICE,
                          "libcuda.so.1 has no %s: it is not an NVIDIA driver, or is older than " RUNGI_CU_DRIVER_MIN
                          "; install a newer one",
                          name);
    return RUNG_OK;
}

static rung_status start(rungi_cu *cu)
{
    TRY(RUNGI_CU_CALL(cu, Init, 0));
    TRY(RUNGI_CU_CALL(cu, DriverGetVersion, &cu->version));
    if (cu->version < RUNGI_CU_VERSION_MIN)
        return rungi_fail(RUNG_STATUS_NO_DEVICE,
                          "the NVIDIA driver supports CUDA %d.%d; install a driver for CUDA %d.%d or later "
                          "(driver " RUNGI_CU_DRIVER_MIN ")",
                          cu->version / 1000, cu->version % 1000 / 10, RUNGI_CU_VERSION_MIN / 1000,
                          RUNGI_CU_VERSION_MIN % 1000 / 10);
    return RUNG_OK;
}

rung_status rungi_cu_load(rungi_cu *cu)
{
    /* The library stays loaded: drivers have threads and exit handlers that need its code. Opening it again returns the
     * same library. */
    cu->library = rungi_library_open_file("libcuda.so.1", false);
    if (!cu->library)
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "libcuda.so.1 was not found; for an NVIDIA GPU install its driver "
                                                 "(" RUNGI_CU_DRIVER_MIN " or later)");
#define X(name, symbol, since, arguments) TRY(find_function(cu, #symbol, since, &cu->name, sizeof cu->name));
    RUNGI_CU_FUNCTION_LIST(X)
#undef X
    void *(*host_address)(rungi_cu_pointer, size_t);
    cu->executes_ptx = rungi_library_symbol(cu->library, "rung_emulated_host_address", &host_address,
                                            sizeof host_address);
    return start(cu);
}

void rungi_cu_track(rungi_cu *cu, rungi_cu_kind kind, int change)
{
    atomic_fetch_add(&cu->live[kind], change);
}

/* ---- Errors ------------------------------------------------------------------------------------ */

#define REOPEN "close the device and open it again; if other code of this process holds it, start the process again"
#define NEWER "install a newer driver (" RUNGI_CU_DRIVER_MIN " or later)"

/* Errors after which the context is unusable. */
static const rungi_cu_result sticky_errors[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999};

/* Other errors with a known cause: number, status, and advice. */
static const struct {
    rungi_cu_result code;
    rung_status status;
    const char *advice;
} known_errors[] = {
    {1, RUNG_STATUS_INVALID, "an argument is out of range"},
    {2, RUNG_STATUS_NO_MEMORY, "use smaller matrices, or free other buffers of the device"},
    {3, RUNG_STATUS_NO_DEVICE,
     "the driver works neither before it was started nor in a forked child; fork before the first use of CUDA"},
    {4, RUNG_STATUS_NO_DEVICE, "the process is ending"},
    {34, RUNG_STATUS_NO_DEVICE, "libcuda.so.1 is a stub for building; take its folder out of the library path"},
    {36, RUNG_STATUS_NO_DEVICE, NEWER},
    {46, RUNG_STATUS_NO_DEVICE, "another process holds the GPU alone"},
    {100, RUNG_STATUS_NO_DEVICE, "the driver sees no GPU; try nvidia-smi, and look at CUDA_VISIBLE_DEVICES"},
    {101, RUNG_STATUS_NO_DEVICE, "there is no such GPU"},
    {200, RUNG_STATUS_COMPILE_FAILED, "the code is damaged"},
    {201, RUNG_STATUS_INVALID, "the CUcontext is not one, or was destroyed"},
    {209, RUNG_STATUS_COMPILE_FAILED, "the code is for another architecture"},
    {218, RUNG_STATUS_COMPILE_FAILED, "the driver's compiler does not take the PTX"},
    {221, RUNG_STATUS_COMPILE_FAILED, "the driver's PTX compiler (libnvidia-ptxjitcompiler) is missing"},
    {222, RUNG_STATUS_COMPILE_FAILED, "the PTX is newer than the driver; " NEWER},
    {223, RUNG_STATUS_COMPILE_FAILED, "compiling PTX is turned off; unset CUDA_DISABLE_PTX_JIT"},
    {400, RUNG_STATUS_INVALID, "not a stream, event or memory of this CUcontext"},
    {500, RUNG_STATUS_COMPILE_FAILED, "the code has no kernel of that name"},
    {600, RUNG_STATUS_INVALID, "the work is not done yet"},
    {701, RUNG_STATUS_UNSUPPORTED, "the kernel needs more registers or shared memory than a block can have"},
    {800, RUNG_STATUS_UNSUPPORTED, "it is not permitted here"},
    {801, RUNG_STATUS_UNSUPPORTED, "the GPU or its driver cannot do it"},
    {802, RUNG_STATUS_NO_DEVICE, "the system's drivers are still starting"},
    {803, RUNG_STATUS_NO_DEVICE, "the driver's kernel module and libcuda differ; restart the machine"},
    {804, RUNG_STATUS_NO_DEVICE, NEWER},
    {900, RUNG_STATUS_UNSUPPORTED, "it cannot be captured in a graph"},
    {901, RUNG_STATUS_UNSUPPORTED, "the capture of a graph failed before"},
    {902, RUNG_STATUS_UNSUPPORTED, "it would join two captures of graphs"},
    {905, RUNG_STATUS_UNSUPPORTED, "an event of a captured stream was used outside the capture"},
    {906, RUNG_STATUS_UNSUPPORTED, "the default stream cannot be used while a graph is captured"},
    {907, RUNG_STATUS_UNSUPPORTED, "the event was captured in a graph and cannot be waited for"},
};

bool rungi_cu_is_sticky(rungi_cu_result error)
{
    for (size_t i = 0; i < sizeof sticky_errors / sizeof *sticky_errors; i++)
        if (sticky_errors[i] == error)
            return true;
    return false;
}

rung_status rungi_cu_check(rungi_cu *cu, rungi_cu_result error, const char *function)
{
    const char *name = NULL, *words = NULL, *advice = "the CUDA driver API's manual says more of it";
    rung_status status = RUNG_STATUS_UNSUPPORTED;
    if (error == 0)
        return RUNG_OK;
    if (rungi_cu_is_sticky(error)) {
        status = RUNG_STATUS_DEVICE_LOST;
        advice = REOPEN;
    }
    for (size_t i = 0; i < sizeof known_errors / sizeof *known_errors; i++)
        if (known_errors[i].code == error) {
            status = known_errors[i].status;
            advice = known_errors[i].advice;
        }
    if (cu->GetErrorName(error, &name) != 0 || !name)
        name = "an error that the driver has no name for";
    if (cu->GetErrorString(error, &words) != 0 || !words)
        words = "no words";
    return rungi_fail(status, "%s: %s (%u, %s): %s", function, name, error, words, advice);
}
