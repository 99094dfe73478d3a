/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - cuInit, and the devices that it poses as. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

/* ---- The pose -------------------------------------------------------------------------------- */

static const pose_t poses[] = {
#define POSE(architecture, name, memory, units, clock, memory_clock, bus, l2, optin, unit, threads) \
    {architecture, name, memory, units, clock, memory_clock, bus, l2, optin, unit, threads},
#include "poses.def"
#undef POSE
};

enum { POSES = sizeof poses / sizeof *poses, USUAL_ARCHITECTURE = 86, USUAL_DRIVER = 12090 };

static int number_of(const char *variable, int usual)
{
    const char *text = getenv(variable);
    return text && *text ? atoi(text) : usual;
}

/* The architecture that was asked for, even if its pose is the one for all others. */
static int architecture_now(void)
{
    return number_of("RUNG_STANDIN_ARCH", USUAL_ARCHITECTURE);
}

const pose_t *pose_now(void)
{
    static _Thread_local pose_t unknown;
    int architecture = architecture_now();
    for (int i = 0; i < POSES - 1; i++)
        if (poses[i].architecture == architecture)
            return &poses[i];
    unknown = poses[POSES - 1];
    unknown.architecture = architecture;
    return &unknown;
}

int pose_driver(void)
{
    return number_of("RUNG_STANDIN_DRIVER", USUAL_DRIVER);
}

int pose_devices(void)
{
    return number_of("RUNG_STANDIN_DEVICES", 1);
}

bool pose_has_pools(void)
{
    return number_of("RUNG_STANDIN_POOLS", 1) != 0;
}

/* ---- Entry points ---------------------------------------------------------------------------- */

CUresult CUDAAPI cuInit(unsigned int flags)
{
    call_t here;
    CUresult result = call_begin(&here, "cuInit", NEEDS_NOTHING);
    if (result == CUDA_SUCCESS)
        result = flags != 0 ? CUDA_ERROR_INVALID_VALUE : call_start();
    return call_end(&here, result);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    call_t here;
    CUresult result = call_begin(&here, "cuDriverGetVersion", NEEDS_NOTHING);
    if (result == CUDA_SUCCESS && !version)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *version = pose_driver();
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    call_t here;
    CUresult result = call_begin(&here, "cuDeviceGetCount", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !count)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *count = pose_devices();
    return call_end(&here, result);
}

static CUresult check_device(const void *out, CUdevice device)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    return device >= 0 && device < pose_devices() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    call_t here;
    CUresult result = call_begin(&here, "cuDeviceGet", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = check_device(device, ordinal);
    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
    call_t here;
    CUresult result = call_begin(&here, "cuDeviceGetName", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = length > 0 ? check_device(name, device) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(name, (size_t)length, "%s", pose_now()->name);
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    call_t here;
    CUresult result = call_begin(&here, "cuDeviceTotalMem_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = check_device(bytes, device);
    if (result == CUDA_SUCCESS)
        *bytes = (size_t)pose_now()->memory_mib << 20;
    return call_end(&here, result);
}

static CUresult attribute_of(const pose_t *pose, CUdevice_attribute what, int *value)
{
    switch (what) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = pose->clock_khz; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = pose->units; break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = pose->memory_clock_khz; break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = pose->bus_bits; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = pose->l2_kib * 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = pose->threads_unit; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = pose->architecture / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = pose->architecture % 10; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = pose->shared_unit; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = pose->shared_optin; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *value = pose_has_pools(); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
    call_t here;
    CUresult result = call_begin(&here, "cuDeviceGetAttribute", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = check_device(value, device);
    if (result == CUDA_SUCCESS)
        result = attribute_of(pose_now(), what, value);
    return call_end(&here, result);
}

/* NVIDIA's own libraries ask for tables of undocumented functions, and do without them. */
CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id)
{
    call_t here;
    CUresult result = call_begin(&here, "cuGetExportTable", NEEDS_NOTHING);
    (void)id;
    if (table)
        *table = NULL;
    return call_end(&here, result == CUDA_SUCCESS ? CUDA_ERROR_NOT_FOUND : result);
}
