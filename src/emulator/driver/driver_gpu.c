/* SPDX-License-Identifier: Apache-2.0 */
/* driver_gpu.c - the emulator that executes the work of all devices. One thread at a time uses it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"
#include "emulator/machine/emulator.h"

/* Allocations up to this size are filled with a pattern that reads as NaN: memory of a GPU is not zero. */
enum { FILLED_BYTES_MAX = 64 << 20, FILL_BYTE = 0xff };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rung_emulator *emulator;
static unsigned generation; /* number of emulators that were destroyed, with their modules */

/* ---- Options ------------------------------------------------------------------------------------ */

static uint32_t check_called(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint32_t check;
    } checks[] = {{"memory", RUNG_EMULATOR_CHECK_MEMORY},
                  {"uninitialized", RUNG_EMULATOR_CHECK_UNINITIALIZED},
                  {"races", RUNG_EMULATOR_CHECK_RACES},
                  {"barriers", RUNG_EMULATOR_CHECK_BARRIERS},
                  {"arithmetic", RUNG_EMULATOR_CHECK_ARITHMETIC},
                  {"all", RUNG_EMULATOR_CHECK_ALL},
                  {"none", 0}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (strlen(checks[i].name) == length && strncmp(checks[i].name, name, length) == 0)
            return checks[i].check;
    fprintf(
        stderr,
        "rung: RUNG_EMULATED_CHECKS names \"%.*s\"; memory, uninitialized, races, barriers, arithmetic, all and none "
        "are valid\n",
        (int)length, name);
    return 0;
}

static uint32_t selected_checks(void)
{
    const char *text = getenv("RUNG_EMULATED_CHECKS");
    uint32_t checks = 0;
    for (const char *at = text && *text ? text : "memory"; *at;) {
        size_t length = strcspn(at, ",");
        checks |= check_called(at, length);
        at += length;
        at += *at == ',';
    }
    return checks;
}

/* Freed addresses are not reused, so there are more of them than the GPU has memory. */
static int64_t address_space_bytes(void)
{
    int64_t least = (int64_t)1 << 40, four_times = ((int64_t)emulated_gpu_current()->memory_mib << 20) * 4;
    return four_times > least ? four_times : least;
}

static CUresult error_of(rung_status status)
{
    switch (status) {
    case RUNG_OK: return CUDA_SUCCESS;
    case RUNG_STATUS_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case RUNG_STATUS_UNSUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult gpu_open(void)
{
    rung_emulator_options options = rung_emulator_options_default();
    rung_status status = RUNG_OK;
    pthread_mutex_lock(&lock);
    if (!emulator) {
        options.compute_capability = emulated_gpu_current()->architecture;
        options.threads = emulated_setting(SETTING_THREADS);
        options.memory_bytes = address_space_bytes();
        options.checks = selected_checks();
        options.count_accesses = coverage_is_wanted();
        status = rung_emulator_create(&options, &emulator);
        if (status != RUNG_OK) {
            options.memory_bytes = 0;
            status = rung_emulator_create(&options, &emulator);
        }
    }
    if (status != RUNG_OK)
        fprintf(stderr, "rung: the emulated GPU cannot start: %s\n", rung_error_text());
    pthread_mutex_unlock(&lock);
    return status == RUNG_OK ? CUDA_SUCCESS : CUDA_ERROR_DEVICE_UNAVAILABLE;
}

void gpu_close(void)
{
    pthread_mutex_lock(&lock);
    rung_emulator_destroy(emulator);
    emulator = NULL;
    generation++;
    pthread_mutex_unlock(&lock);
}

/* ---- Memory ------------------------------------------------------------------------------------- */

/* Returns the bytes of an allocation with the padding that a GPU has. Reads of the padding do not fail on a GPU. */
static size_t padded(size_t bytes)
{
    size_t unit = (size_t)emulated_setting(SETTING_PADDING);
    return unit > 1 && bytes < SIZE_MAX - unit ? (bytes + unit - 1) / unit * unit : bytes;
}

CUresult gpu_allocate(size_t bytes, CUdeviceptr *out)
{
    uint64_t address = 0;
    bytes = padded(bytes);
    if (bytes > INT64_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    rung_status status = rung_emulator_allocate(emulator, (int64_t)bytes, NULL, &address);
    bool fills = bytes <= FILLED_BYTES_MAX && !(emulator->options.checks & RUNG_EMULATOR_CHECK_UNINITIALIZED);
    if (status == RUNG_OK && fills)
        status = rung_emulator_fill(emulator, address, FILL_BYTE, 1, (int64_t)bytes);
    pthread_mutex_unlock(&lock);
    *out = address;
    return error_of(status);
}

void gpu_free(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    if (emulator)
        rung_emulator_free(emulator, address);
    pthread_mutex_unlock(&lock);
}

/* The host may write this memory at any time, so it counts as initialized. */
CUresult gpu_allocate_shared(size_t bytes, CUdeviceptr *out)
{
    uint64_t address = 0;
    if (bytes > INT64_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if ((uintptr_t)emulator->global != PTX_GLOBAL_BASE)
        return CUDA_ERROR_NOT_SUPPORTED;
    pthread_mutex_lock(&lock);
    rung_status status = rung_emulator_allocate(emulator, (int64_t)bytes, NULL, &address);
    if (status == RUNG_OK)
        rungi_ptx_check_host_write(emulator, address, (int64_t)bytes);
    pthread_mutex_unlock(&lock);
    *out = address;
    return error_of(status);
}

bool gpu_is_address(CUdeviceptr address)
{
    return emulator && address >= PTX_GLOBAL_BASE && address - PTX_GLOBAL_BASE < emulator->global_bytes;
}

/* Returns the host address of one row of a copy, or NULL. */
static unsigned char *row_of(const copy_side_t *side, size_t slice, size_t row, size_t bytes)
{
    CUdeviceptr address = side->address + slice * side->slice + row * side->pitch;
    return side->is_device ? rungi_ptx_global_range(emulator, address, (int64_t)bytes)
                           : (unsigned char *)(uintptr_t)address;
}

static bool copy_rows(const driver_copy_t *copy)
{
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++) {
            const unsigned char *from = row_of(&copy->from, z, y, copy->width);
            unsigned char *to = row_of(&copy->to, z, y, copy->width);
            if (!from || !to)
                return false;
            memmove(to, from, copy->width);
            if (copy->to.is_device)
                rungi_ptx_check_host_write(emulator, copy->to.address + z * copy->to.slice + y * copy->to.pitch,
                                           (int64_t)copy->width);
        }
    return true;
}

CUresult gpu_copy(const driver_copy_t *copy)
{
    pthread_mutex_lock(&lock);
    bool is_good = copy_rows(copy);
    pthread_mutex_unlock(&lock);
    return is_good ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult gpu_fill(const driver_fill_t *fill)
{
    rung_status status = RUNG_OK;
    pthread_mutex_lock(&lock);
    for (size_t y = 0; y < fill->height && status == RUNG_OK; y++)
        status = rung_emulator_fill(emulator, fill->address + y * fill->pitch, fill->value, fill->element,
                                    (int64_t)fill->width);
    pthread_mutex_unlock(&lock);
    return status == RUNG_OK ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult gpu_variable(driver_code_t *code, const char *name, CUdeviceptr *address, size_t *bytes)
{
    uint64_t found = 0;
    int64_t size = 0;
    pthread_mutex_lock(&lock);
    rung_status status = rung_emulator_module_variable(code->module, name, &found, &size);
    pthread_mutex_unlock(&lock);
    if (status != RUNG_OK)
        return CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = found;
    if (bytes)
        *bytes = (size_t)size;
    return CUDA_SUCCESS;
}

void *rung_emulated_host_address(CUdeviceptr address, size_t bytes)
{
    pthread_mutex_lock(&lock);
    void *found = emulator && bytes <= INT64_MAX ? rungi_ptx_global_range(emulator, address, (int64_t)bytes) : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- Modules ------------------------------------------------------------------------------------ */

CUresult gpu_load(const char *text, size_t bytes, driver_code_t **out, char *reason, size_t capacity)
{
    driver_code_t *code = calloc(1, sizeof *code);
    if (!code)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&code->references, 1);
    pthread_mutex_lock(&lock);
    rung_status status = rung_emulator_module_load(emulator, "module", text, bytes, &code->module);
    code->generation = generation;
    if (status == RUNG_OK)
        coverage_begin(code->module->module);
    pthread_mutex_unlock(&lock);
    if (status == RUNG_OK) {
        *out = code;
        return CUDA_SUCCESS;
    }
    snprintf(reason, capacity, "%s", rung_error_text());
    free(code);
    return status == RUNG_STATUS_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

driver_code_t *gpu_code_retain(driver_code_t *code)
{
    atomic_fetch_add(&code->references, 1);
    return code;
}

void gpu_code_release(driver_code_t *code)
{
    if (atomic_fetch_sub(&code->references, 1) > 1)
        return;
    pthread_mutex_lock(&lock);
    if (code->generation == generation) /* graphs outlive contexts, and so the emulator */
        rung_emulator_module_unload(code->module);
    pthread_mutex_unlock(&lock);
    free(code);
}

/* ---- Launches ----------------------------------------------------------------------------------- */

static int64_t launches; /* that have run */

/* Reports the findings of a launch and returns the error of the first one that fails the launch. */
static CUresult collect_findings(int64_t launch)
{
    int64_t count = rung_emulator_finding_count(emulator);
    CUresult result = CUDA_SUCCESS;
    for (int64_t i = 0; i < count; i++) {
        CUresult error = findings_report(rung_emulator_finding_at(emulator, i), launch);
        result = result == CUDA_SUCCESS ? error : result;
    }
    rung_emulator_findings_clear(emulator);
    return result;
}

CUresult gpu_launch(const driver_work_t *work)
{
    rung_emulator_launch launch = rung_emulator_launch_of(1, 1, NULL);
    memcpy(launch.grid, work->grid, sizeof launch.grid);
    memcpy(launch.block, work->block, sizeof launch.block);
    memcpy(launch.cluster, work->cluster, sizeof launch.cluster);
    launch.dynamic_shared_bytes = work->shared;
    launch.is_cooperative = work->is_cooperative;
    launch.parameter_buffer = work->arguments;
    launch.parameter_bytes = (int64_t)work->argument_bytes;
    pthread_mutex_lock(&lock);
    rung_status status = rung_emulator_launch_kernel(work->kernel, &launch);
    CUresult result = collect_findings(++launches);
    coverage_write(work->kernel->owner->module);
    if (coverage_is_wanted())
        rung_emulator_counts_clear(emulator);
    pthread_mutex_unlock(&lock);
    if (status != RUNG_OK && result == CUDA_SUCCESS) {
        findings_report_failure("launch-failed", rung_emulator_kernel_get_info(work->kernel)->name, rung_error_text());
        result = CUDA_ERROR_LAUNCH_FAILED;
    }
    return result;
}

bool gpu_checks_all(void)
{
    pthread_mutex_lock(&lock);
    bool checks = emulator && (emulator->options.checks & RUNG_EMULATOR_CHECK_RACES);
    pthread_mutex_unlock(&lock);
    return checks;
}
