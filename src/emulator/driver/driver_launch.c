/* SPDX-License-Identifier: Apache-2.0 */
/* driver_launch.c - cuLaunchKernel, cuLaunchKernelEx and cuLaunchHostFunc. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"

enum { DEFAULT_SHARED_BYTES = 48 * 1024, THREADS_MAX = 1024, BLOCK_Z_MAX = 64, GRID_YZ_MAX = 65535 };

/* ---- Limits ------------------------------------------------------------------------------------- */

static bool shape_is_valid(const unsigned grid[3], const unsigned block[3])
{
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || block[i] == 0 || block[i] > THREADS_MAX)
            return false;
    return grid[0] <= INT32_MAX && grid[1] <= GRID_YZ_MAX && grid[2] <= GRID_YZ_MAX && block[2] <= BLOCK_Z_MAX &&
           block[0] * block[1] * block[2] <= THREADS_MAX;
}

/* Without cuFuncSetAttribute, a block has at most 48 KiB. */
static size_t shared_allowed(CUfunction function, size_t static_bytes)
{
    size_t requested = static_bytes + (size_t)function->max_dynamic;
    return requested > DEFAULT_SHARED_BYTES ? requested : DEFAULT_SHARED_BYTES;
}

static bool block_is_allowed(const rung_emulator_kernel_info *info, const unsigned block[3])
{
    const uint32_t *max = info->max_block;
    uint64_t max_threads = (uint64_t)max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1);
    for (int i = 0; i < 3; i++)
        if (info->required_block[i] && block[i] != info->required_block[i])
            return false;
    return max_threads == 0 || (uint64_t)block[0] * block[1] * block[2] <= max_threads;
}

/* Reports a launch that exceeds a limit. Programs that do not check the result of a launch do not notice it. */
static void report_launch(const char *kernel, const unsigned grid[3], const unsigned block[3], size_t shared)
{
    char text[256];
    snprintf(
        text, sizeof text,
        "a launch of %u x %u x %u blocks of %u x %u x %u threads with %zu bytes of shared memory exceeds a limit of "
        "the GPU or of the kernel",
        grid[0], grid[1], grid[2], block[0], block[1], block[2], shared);
    findings_report_failure("limit", kernel, text);
}

static CUresult check_launch(CUfunction function, const unsigned grid[3], const unsigned block[3], unsigned shared)
{
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(function->kernel);
    size_t static_bytes = (size_t)info->static_shared_bytes;
    bool is_valid = shape_is_valid(grid, block) && block_is_allowed(info, block) &&
                    static_bytes + shared <= shared_allowed(function, static_bytes);
    if (!is_valid && gpu_checks_all())
        report_launch(info->name, grid, block, static_bytes + shared);
    return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Arguments ---------------------------------------------------------------------------------- */

/* Copies the arguments into a parameter buffer. */
static bool pack(driver_work_t *work, void **arguments)
{
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(work->kernel);
    int64_t count = info->parameter_count;
    work->argument_bytes = count > 0 ? (size_t)(info->parameter_offsets[count - 1] + info->parameter_bytes[count - 1])
                                     : 0;
    work->arguments = calloc(work->argument_bytes + 1, 1);
    for (int64_t i = 0; work->arguments && i < count; i++)
        memcpy(work->arguments + info->parameter_offsets[i], arguments[i], (size_t)info->parameter_bytes[i]);
    return work->arguments != NULL;
}

static bool takes_arguments(CUfunction function)
{
    return rung_emulator_kernel_get_info(function->kernel)->parameter_count > 0;
}

/* ---- Entry points -------------------------------------------------------------------------------- */

/* Finds the parameter buffer in the list that replaces `arguments`. */
static CUresult read_extra(void **extra, const void **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *bytes = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return *buffer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult pack_extra(driver_work_t *work, void **extra)
{
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(work->kernel);
    int64_t count = info->parameter_count;
    size_t bytes,
        needed = count > 0 ? (size_t)(info->parameter_offsets[count - 1] + info->parameter_bytes[count - 1]) : 0;
    const void *buffer;
    CUresult result = read_extra(extra, &buffer, &bytes);
    if (result != CUDA_SUCCESS || bytes < needed)
        return CUDA_ERROR_INVALID_VALUE;
    work->argument_bytes = needed;
    work->arguments = calloc(needed + 1, 1);
    if (!work->arguments)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(work->arguments, buffer, needed);
    return CUDA_SUCCESS;
}

CUresult launch_work(CUfunction function, const unsigned grid[3], const unsigned block[3], const unsigned cluster[3],
                     unsigned shared, void **arguments, void **extra, driver_work_t **out)
{
    if (!arguments && !extra && takes_arguments(function))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_launch(function, grid, block, shared);
    if (result != CUDA_SUCCESS)
        return result;
    driver_work_t *work = work_new(LAUNCH);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->function = function;
    work->kernel = function->kernel;
    work->code = gpu_code_retain(function->module->code);
    work->shared = shared;
    memcpy(work->grid, grid, sizeof work->grid);
    memcpy(work->block, block, sizeof work->block);
    memcpy(work->cluster, cluster, sizeof work->cluster);
    if (arguments || !extra)
        result = pack(work, arguments) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    else
        result = pack_extra(work, extra);
    if (result == CUDA_SUCCESS)
        *out = work;
    else
        work_release(work);
    return result;
}

/* Launches on behalf of an entry point. */
static CUresult launch_checked(const char *symbol, CUfunction function, const unsigned grid[3], const unsigned block[3],
                               const unsigned cluster[3], unsigned shared, CUstream handle, void **arguments,
                               void **extra, bool is_cooperative)
{
    driver_call_t here;
    CUstream stream = NULL;
    driver_work_t *work = NULL;
    CUresult result = call_begin(&here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !(object_is(FUNCTION, function) && function->base.context == here.context))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS)
        result = launch_work(function, grid, block, cluster, shared, arguments, extra, &work);
    if (result == CUDA_SUCCESS) {
        work->is_cooperative = is_cooperative;
        result = work_submit(stream, work);
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                                CUstream handle, void **arguments, void **extra)
{
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z}, cluster[3] = {0};
    return launch_checked("cuLaunchKernel", function, grid, block, cluster, shared, handle, arguments, extra, false);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                           unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                           unsigned int block_z, unsigned int shared, CUstream handle, void **arguments)
{
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z}, cluster[3] = {0};
    return launch_checked("cuLaunchCooperativeKernel", function, grid, block, cluster, shared, handle, arguments, NULL,
                          true);
}

/* Attributes that change nothing but speed are ignored. */
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra)
{
    unsigned cluster[3] = {0};
    bool is_cooperative = false;
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    const unsigned block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
            is_cooperative = config->attrs[i].value.cooperative != 0;
        } else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            cluster[0] = config->attrs[i].value.clusterDim.x;
            cluster[1] = config->attrs[i].value.clusterDim.y;
            cluster[2] = config->attrs[i].value.clusterDim.z;
        }
    return launch_checked("cuLaunchKernelEx", function, grid, block, cluster, config->sharedMemBytes, config->hStream,
                          arguments, extra, is_cooperative);
}

/* Calls a function of the host in the order of the stream. */
CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function, void *user)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuLaunchHostFunc", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !function)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    driver_work_t *work = result == CUDA_SUCCESS ? work_new(HOST_FUNCTION) : NULL;
    if (result == CUDA_SUCCESS && !work)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        work->host = function;
        work->user = user;
        result = work_submit(stream, work);
    }
    return call_end(&here, result);
}
