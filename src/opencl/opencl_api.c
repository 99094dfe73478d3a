/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_api.c - loads libOpenCL or a driver, counts its objects for tests, and describes its errors. */
#include "opencl/opencl_api.h"

#include <CL/cl_icd.h>
#include <string.h>

#include "base/dynamic_library.h"
#include "base/error.h"
#include "base/file_io.h"
#include "base/python_package.h"
#include "base/try.h"

/* ---- Loading --------------------------------------------------------------------------------- */

static const char *const library_names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
static const rungi_library_location loader_path = {NULL, NULL};

static rung_status find_function(rungi_cl *cl, const char *name, void *slot, size_t size)
{
    if (!rungi_library_symbol(cl->library, name, slot, size))
        return rungi_fail(RUNG_STATUS_NO_DEVICE,
                          "libOpenCL has no %s: it is older than OpenCL 1.2; install a newer loader "
                          "(ocl-icd-libopencl1)",
                          name);
    return RUNG_OK;
}

static rung_status load_loader(rungi_cl *cl)
{
    /* The library stays loaded: drivers have threads and exit handlers that need its code. Opening it again returns the
     * same library. */
    cl->library = rungi_library_open_any(&loader_path, 1, library_names, NULL);
    if (!cl->library)
        return rungi_fail(
            RUNG_STATUS_NO_DEVICE, "libOpenCL.so.1 was not found; %s",
            rungi_lab_install_hint(NULL)
                ? "for a driver that runs on any processor: pip install \"rung[lab]\""
                : "install an OpenCL loader (ocl-icd-libopencl1) and a driver (pocl-opencl-icd runs on any "
                  "processor)");
#define X(name) TRY(find_function(cl, "cl" #name, &cl->name, sizeof cl->name));
    RUNGI_CL_FUNCTION_LIST(X)
#undef X
    return RUNG_OK;
}

/* ---- A driver without a loader ------------------------------------------------------------------ */

/* PoCL of PyPI's package pocl-binary-distribution. The package has no loader, and a loader would search elsewhere. */
static const rungi_library_location driver_folders[] = {
    {rungi_own_packages, "/pyopencl/.libs"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/pyopencl/.libs"},
};

/* Returns the table of a driver's functions, which its platform begins with (extension cl_khr_icd); NULL if the driver
 * reports no platform. */
static const cl_icd_dispatch *find_table(void *driver)
{
    void *(*find_extension)(const char *name);
    cl_int (*get_platforms)(cl_uint capacity, cl_platform_id * platforms, cl_uint * count);
    const cl_icd_dispatch *table = NULL;
    cl_platform_id platform;
    cl_uint count = 0;
    if (!rungi_library_symbol(driver, "clGetExtensionFunctionAddress", &find_extension, sizeof find_extension))
        return NULL;
    void *address = find_extension("clIcdGetPlatformIDsKHR");
    memcpy(&get_platforms, &address, sizeof get_platforms);
    if (get_platforms && get_platforms(1, &platform, &count) == CL_SUCCESS && count > 0)
        memcpy(&table, platform, sizeof table);
    return table;
}

/* Fills the table with the functions of the driver. Returns `otherwise` if no driver is installed. */
static rung_status load_driver(rungi_cl *cl, rung_status otherwise)
{
    char linker[4096];
    void *driver = rungi_library_open(driver_folders, 2, "libpocl*.so*", NULL);
    if (!driver)
        return otherwise;
    /* PoCL ends the process if it cannot start the linker. */
    if (!rungi_find_on_path("ld", linker, sizeof linker))
        return rungi_fail(RUNG_STATUS_NO_DEVICE,
                          "PoCL, an OpenCL driver, is installed, but needs the linker ld, which is "
                          "not on PATH; install it (Debian: binutils)");
    const cl_icd_dispatch *table = find_table(driver);
    if (!table)
        return otherwise;
    cl->library = driver;
#define X(name) cl->name = table->cl##name;
    RUNGI_CL_FUNCTION_LIST(X)
#undef X
    return RUNG_OK;
}

static bool has_platform(const rungi_cl *cl)
{
    cl_uint count = 0;
    return cl->GetPlatformIDs(0, NULL, &count) == CL_SUCCESS && count > 0;
}

rung_status rungi_cl_load(rungi_cl *cl)
{
    rung_status status = load_loader(cl);
    return status == RUNG_OK && has_platform(cl) ? status : load_driver(cl, status);
}

/* ---- Counting ----------------------------------------------------------------------------------- */

void rungi_cl_track(rungi_cl *cl, rungi_cl_kind kind)
{
    atomic_fetch_add(&cl->live[kind], 1);
}

/* ---- Errors ---------------------------------------------------------------------------------------- */

#define OUT_OF_MEMORY "; use smaller matrices, or free other buffers of the device"
#define DEVICE_FAILED "; close the device and open it again"

/* Error codes: name, status, and advice. */
/* clang-format off */
#define RUNGI_CL_ERROR_LIST(X)                                                     \
    X(CL_DEVICE_NOT_AVAILABLE,             NO_DEVICE,   "; another program may hold it")  \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE,    NO_MEMORY,   OUT_OF_MEMORY)             \
    X(CL_OUT_OF_RESOURCES,                 NO_MEMORY,   OUT_OF_MEMORY)             \
    X(CL_OUT_OF_HOST_MEMORY,               NO_MEMORY,   OUT_OF_MEMORY)             \
    X(CL_INVALID_BUFFER_SIZE,              NO_MEMORY,   ": larger than one buffer of the device can be" OUT_OF_MEMORY) \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, DEVICE_LOST, ": an event waited for had failed") \
    X(CL_PROFILING_INFO_NOT_AVAILABLE,     UNSUPPORTED, ": the queue was made without profiling") \
    X(CL_BUILD_PROGRAM_FAILURE,            COMPILE_FAILED,     "")                        \
    X(CL_COMPILER_NOT_AVAILABLE,           COMPILE_FAILED,     ": the driver has no compiler") \
    X(CL_INVALID_BUILD_OPTIONS,            COMPILE_FAILED,     ": the compiler does not take the options") \
    X(CL_INVALID_PROGRAM_EXECUTABLE,       COMPILE_FAILED,     ": the program is not built for this device") \
    X(CL_INVALID_KERNEL_NAME,              COMPILE_FAILED,     ": the program has no kernel of that name") \
    X(CL_INVALID_CONTEXT,                  INVALID,     ": an object of another cl_context") \
    X(CL_INVALID_MEM_OBJECT,               INVALID,     ": not a buffer of this cl_context") \
    X(CL_INVALID_COMMAND_QUEUE,            INVALID,     ": not a queue")           \
    X(CL_INVALID_EVENT,                    INVALID,     ": not an event")          \
    X(CL_INVALID_EVENT_WAIT_LIST,          INVALID,     ": not an event of this cl_context") \
    X(CL_INVALID_DEVICE,                   INVALID,     ": not a device of this cl_context") \
    X(CL_INVALID_KERNEL_ARGS,              INVALID,     ": the kernel takes other arguments than dialect.h lists") \
    X(CL_INVALID_ARG_SIZE,                 INVALID,     ": the kernel takes other arguments than dialect.h lists") \
    X(CL_INVALID_ARG_VALUE,                INVALID,     ": the kernel takes other arguments than dialect.h lists") \
    X(CL_INVALID_WORK_GROUP_SIZE,          UNSUPPORTED, ": the device does not support this number of threads per block") \
    X(CL_INVALID_WORK_ITEM_SIZE,           UNSUPPORTED, ": the device does not support this number of threads per block") \
    X(CL_INVALID_GLOBAL_WORK_SIZE,         UNSUPPORTED, ": the device does not support this number of threads in a grid")
/* clang-format on */

rung_status rungi_cl_check(cl_int error, const char *function)
{
    switch (error) {
    case CL_SUCCESS: return RUNG_OK;
#define X(code, status, advice) \
    case code: return rungi_fail(RUNG_STATUS_##status, "%s: " #code advice, function);
        RUNGI_CL_ERROR_LIST(X)
#undef X
    }
    if (error <= CL_INVALID_VALUE && error >= CL_INVALID_DEVICE_PARTITION_COUNT)
        return rungi_invalid("%s: OpenCL error %d", function, (int)error);
    return rungi_fail(RUNG_STATUS_DEVICE_LOST, "%s: OpenCL error %d" DEVICE_FAILED, function, (int)error);
}

rung_status rungi_cl_status_submitted(rung_status status)
{
    return status == RUNG_STATUS_INVALID || status == RUNG_STATUS_UNSUPPORTED ? RUNG_STATUS_DEVICE_LOST : status;
}

rung_status rungi_cl_check_waiting(cl_int error, const char *function)
{
    /* Not a lack of memory: drivers report a kernel that accessed invalid memory in this way. */
    if (error == CL_OUT_OF_RESOURCES)
        return rungi_fail(RUNG_STATUS_DEVICE_LOST,
                          "%s: CL_OUT_OF_RESOURCES: the work failed on the device" DEVICE_FAILED, function);
    return rungi_cl_status_submitted(rungi_cl_check(error, function));
}
