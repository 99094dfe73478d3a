/* SPDX-License-Identifier: Apache-2.0 */
/* driver_device.c - cuInit, and the attributes of the emulated GPUs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"

/* ---- Models -------------------------------------------------------------------------------- */

static const emulated_gpu_t models[] = {
#define EMULATED_GPU(architecture, name, memory, units, clock, memory_clock, bus, l2, optin, unit, threads) \
    {architecture, name, memory, units, clock, memory_clock, bus, l2, optin, unit, threads},
#include "gpu_models.def"
#undef EMULATED_GPU
};

enum { EMULATED_GPUS = sizeof models / sizeof *models };

/* ---- Settings ------------------------------------------------------------------------------- */

static const struct {
    const char *variable;
    int default_value, least, most;
} settings[] = {[SETTING_ARCHITECTURE] = {"RUNG_EMULATED_ARCH", 86, 20, 999},
                [SETTING_DRIVER_VERSION] = {"RUNG_EMULATED_DRIVER_VERSION", 12090, 11000, 99990},
                [SETTING_DEVICES] = {"RUNG_EMULATED_DEVICES", 1, 0, 64},
                [SETTING_POOLS] = {"RUNG_EMULATED_POOLS", 1, 0, 1},
                [SETTING_THREADS] = {"RUNG_EMULATED_THREADS", 0, 0, 256},
                [SETTING_MULTIPROCESSORS] = {"RUNG_EMULATED_MULTIPROCESSORS", 0, 0, 1024},
                [SETTING_PADDING] = {"RUNG_EMULATED_PADDING", 1, 1, 65536}};

/* Reads a setting. Returns false, and the default value, if the text is not a number in the range. */
static bool read_setting(emulated_setting_t setting, int *value)
{
    const char *text = getenv(settings[setting].variable);
    *value = settings[setting].default_value;
    if (!text || !*text)
        return true;
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || number < settings[setting].least || number > settings[setting].most)
        return false;
    *value = (int)number;
    return true;
}

int emulated_setting(emulated_setting_t setting)
{
    int value;
    read_setting(setting, &value);
    return value;
}

/* Reports the settings that are invalid. */
static CUresult check_settings(void)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        int value;
        if (read_setting((emulated_setting_t)i, &value))
            continue;
        fprintf(stderr, "rung: %s is \"%s\"; whole numbers from %d to %d are valid (default %d)\n",
                settings[i].variable, getenv(settings[i].variable), settings[i].least, settings[i].most,
                settings[i].default_value);
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return result;
}

/* ---- The GPU -------------------------------------------------------------------------------- */

const emulated_gpu_t *emulated_gpu_current(void)
{
    static _Thread_local emulated_gpu_t gpu;
    int architecture = emulated_setting(SETTING_ARCHITECTURE), model = 0;
    int multiprocessors = emulated_setting(SETTING_MULTIPROCESSORS);
    const char *name = getenv("RUNG_EMULATED_NAME");
    while (model < EMULATED_GPUS - 1 && models[model].architecture != architecture)
        model++;
    gpu = models[model];
    gpu.architecture = architecture;
    if (multiprocessors > 0)
        gpu.multiprocessors = multiprocessors;
    if (name && *name)
        gpu.name = name;
    return &gpu;
}

int emulated_driver_version(void)
{
    return emulated_setting(SETTING_DRIVER_VERSION);
}

int emulated_device_count(void)
{
    return emulated_setting(SETTING_DEVICES);
}

bool emulated_device_has_pools(void)
{
    return emulated_setting(SETTING_POOLS) != 0;
}

/* ---- Entry points ---------------------------------------------------------------------------- */

CUresult CUDAAPI cuInit(unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuInit", NEEDS_NOTHING);
    if (result == CUDA_SUCCESS)
        result = flags != 0 ? CUDA_ERROR_INVALID_VALUE : check_settings();
    if (result == CUDA_SUCCESS)
        result = call_init();
    return call_end(&here, result);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDriverGetVersion", NEEDS_NOTHING);
    if (result == CUDA_SUCCESS && !version)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *version = emulated_driver_version();
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDeviceGetCount", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !count)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *count = emulated_device_count();
    return call_end(&here, result);
}

static CUresult check_device(const void *out, CUdevice device)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    return device >= 0 && device < emulated_device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDeviceGet", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = check_device(device, ordinal);
    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDeviceGetName", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = length > 0 ? check_device(name, device) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(name, (size_t)length, "%s", emulated_gpu_current()->name);
    return call_end(&here, result);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDeviceTotalMem_v2", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = check_device(bytes, device);
    if (result == CUDA_SUCCESS)
        *bytes = (size_t)emulated_gpu_current()->memory_mib << 20;
    return call_end(&here, result);
}

static CUresult attribute_of(const emulated_gpu_t *gpu, CUdevice device, CUdevice_attribute what, int *value)
{
    switch (what) {
#define DEVICE_ATTRIBUTE(number, name, expression) \
    case number:                                   \
        *value = expression;                       \
        return CUDA_SUCCESS;
#include "emulator/driver/device_attributes.def"
#undef DEVICE_ATTRIBUTE
    }
    /* Attributes of textures, surfaces and newer drivers. */
    enum { ATTRIBUTES_MAX = 200 };
    *value = 0;
    return (unsigned)what > 0 && (unsigned)what < ATTRIBUTES_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuDeviceGetAttribute", NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = check_device(value, device);
    if (result == CUDA_SUCCESS)
        result = attribute_of(emulated_gpu_current(), device, what, value);
    return call_end(&here, result);
}

/* NVIDIA's libraries query tables of undocumented functions, and work without them. */
CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuGetExportTable", NEEDS_NOTHING);
    (void)id;
    if (table)
        *table = NULL;
    return call_end(&here, result == CUDA_SUCCESS ? CUDA_ERROR_NOT_FOUND : result);
}
