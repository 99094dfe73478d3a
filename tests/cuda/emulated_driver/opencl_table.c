/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_table.c - opens libOpenCL and the device that plays the GPU. */
#include "opencl_table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

opencl_table_t cl;

static bool find_function(void *library, const char *name, void *slot, size_t size)
{
    void *address = dlsym(library, name);
    memcpy(slot, &address, size);
    return address != NULL;
}

static bool load(void)
{
    bool good = true;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
#define X(name) good = good && find_function(library, "cl" #name, &cl.name, sizeof cl.name);
    EMULATED_CL_LIST(X)
#undef X
    return good;
}

/* The first device of a platform that has memory by pointer. */
static bool choose_device(cl_platform_id platform)
{
    cl_device_id devices[8];
    cl_device_svm_capabilities can = 0;
    cl_uint count = 0;
    if (cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, devices, &count) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < count && i < 8; i++) {
        if (cl.GetDeviceInfo(devices[i], CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL) == CL_SUCCESS &&
            can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) {
            cl.device = devices[i];
            return true;
        }
    }
    return false;
}

bool opencl_open(void)
{
    cl_platform_id platforms[8];
    cl_uint count = 0;
    cl_int error = CL_SUCCESS;
    if (cl.context)
        return true;
    if (!load() || cl.GetPlatformIDs(8, platforms, &count) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; !cl.device && i < count && i < 8; i++)
        choose_device(platforms[i]);
    if (cl.device)
        cl.context = cl.CreateContext(NULL, 1, &cl.device, NULL, NULL, &error);
    if (!cl.context)
        fprintf(stderr, "emulated driver: no OpenCL device with fine-grained shared memory is here\n");
    return cl.context != NULL;
}
