/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - cuLaunchKernel: the driver's limits, then the kernel's source on OpenCL. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt/simt.h"
#include "emulated_driver.h"

enum {
    SHARED_USUAL = 48 * 1024,
    REGISTERS_BLOCK = 65536,
    THREADS_MAX = 1024,
    BLOCK_Z_MAX = 64,
    GRID_YZ_MAX = 65535,
    WARP = 32,
    REGISTER_UNIT = 256
};

/* ---- Limits ------------------------------------------------------------------------------------- */

static bool shape_is_good(const unsigned grid[3], const unsigned block[3])
{
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || block[i] == 0 || block[i] > THREADS_MAX)
            return false;
    return grid[0] <= INT32_MAX && grid[1] <= GRID_YZ_MAX && grid[2] <= GRID_YZ_MAX && block[2] <= BLOCK_Z_MAX &&
           block[0] * block[1] * block[2] <= THREADS_MAX;
}

/* Registers are given to a warp in units. */
static int registers_of(const image_function_t *function, unsigned threads)
{
    int a_warp = (function->registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    return a_warp * (int)((threads + WARP - 1) / WARP);
}

/* Without asking for more, a block has 48 KiB. */
static size_t shared_allowed(CUfunction function)
{
    size_t asked = (size_t)function->image->shared + (size_t)function->max_dynamic;
    return asked > SHARED_USUAL ? asked : SHARED_USUAL;
}

static CUresult check_launch(CUfunction function, const unsigned grid[3], const unsigned block[3], unsigned shared)
{
    if (!shape_is_good(grid, block))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned threads = block[0] * block[1] * block[2];
    if (threads > (unsigned)function->image->max_threads)
        return CUDA_ERROR_INVALID_VALUE;
    if ((size_t)function->image->shared + shared > shared_allowed(function))
        return CUDA_ERROR_INVALID_VALUE;
    /* OpenCL has what the source declares; a GPU has what the launch gives. */
    if (function->max_dynamic > SHARED_USUAL && shared < (unsigned)function->max_dynamic)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (registers_of(function->image, threads) > REGISTERS_BLOCK)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return CUDA_SUCCESS;
}

/* ---- Arguments ---------------------------------------------------------------------------------- */

/* Which arguments are pointers: see dialect.h and epilogue.h, whose order all kernels keep.
 * OpenCL could tell, but only of a program compiled with another option, and so apart from
 * PoCL's cache of what the library's OpenCL device compiles. */
static bool is_pointer(int index)
{
    return index == 4 || index == 6 || index == 9 || index >= 12;
}

static bool all_are_pointers_in_place(const image_function_t *image)
{
    if (image->parameter_count != 11 && image->parameter_count != 16 && image->parameter_count != 17)
        return false;
    for (int i = 0; i < image->parameter_count; i++)
        if (is_pointer(i) && image->parameter_bytes[i] != (int)sizeof(CUdeviceptr))
            return false;
    return true;
}

static CUresult pack(const image_function_t *image, void **arguments, unsigned char **out)
{
    size_t total = 1, used = 0;
    for (int i = 0; i < image->parameter_count; i++)
        total += (size_t)image->parameter_bytes[i];
    unsigned char *packed = malloc(total);
    if (!packed)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < image->parameter_count; i++) {
        memcpy(packed + used, arguments[i], (size_t)image->parameter_bytes[i]);
        used += (size_t)image->parameter_bytes[i];
    }
    *out = packed;
    return CUDA_SUCCESS;
}

static cl_int set_pointer(cl_kernel kernel, cl_uint index, CUdeviceptr address)
{
    return address ? cl.SetKernelArgSVMPointer(kernel, index, (void *)(uintptr_t)address)
                   : cl.SetKernelArg(kernel, index, sizeof(cl_mem), NULL);
}

/* Whether every pointer is NULL or in memory of the function's context; sets them all. */
static bool set_arguments(CUfunction function, const unsigned char *at, cl_int *error)
{
    const image_function_t *image = function->image;
    *error = CL_SUCCESS;
    for (int i = 0; i < image->parameter_count && *error == CL_SUCCESS; i++) {
        CUdeviceptr address = 0;
        size_t bytes = (size_t)image->parameter_bytes[i];
        if (is_pointer(i)) {
            memcpy(&address, at, sizeof address);
            if (address && !memory_containing(function->base.context, address))
                return false;
            *error = set_pointer(function->kernel, (cl_uint)i, address);
        } else {
            *error = cl.SetKernelArg(function->kernel, (cl_uint)i, bytes, at);
        }
        at += bytes;
    }
    return true;
}

/* ---- Work --------------------------------------------------------------------------------------- */

/* Where the emulated driver cannot go on though a GPU might, it says so: a test that fails for that
 * must not be taken for a bug of the library. */
static CUresult abort_launch(const char *what, cl_int error)
{
    fprintf(stderr, "emulated driver: %s: OpenCL error %d\n", what, (int)error);
    return CUDA_ERROR_UNKNOWN;
}

/* Memory for the warps of a launch, to be freed behind it. NULL if there is none. */
static void *scratch_of(const driver_work_t *work)
{
    size_t threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= (size_t)work->grid[i] * work->block[i];
    return cl.SVMAlloc(cl.context, CL_MEM_READ_WRITE, threads * RUNGI_SIMT_SCRATCH_BYTES_PER_THREAD, 0);
}

static cl_int enqueue(CUstream stream, const driver_work_t *work)
{
    size_t global[3], local[3];
    cl_kernel kernel = work->function->kernel;
    void *scratch = work->function->emulates ? scratch_of(work) : NULL;
    cl_int error = CL_SUCCESS;
    for (int i = 0; i < 3; i++) {
        local[i] = work->block[i];
        global[i] = local[i] * work->grid[i];
    }
    if (work->function->emulates)
        error = scratch ? cl.SetKernelArgSVMPointer(kernel, RUNGI_SIMT_ARGUMENTS_MAX - 1, scratch)
                        : CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (error == CL_SUCCESS)
        error = cl.EnqueueNDRangeKernel(stream->queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
    if (scratch && cl.EnqueueSVMFree(stream->queue, 1, &scratch, NULL, NULL, 0, NULL, NULL) != CL_SUCCESS)
        cl.SVMFree(cl.context, scratch);
    return error;
}

static CUresult run_launch(CUstream stream, const driver_work_t *work)
{
    cl_int error;
    if (!object_is(FUNCTION, work->function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!set_arguments(work->function, work->arguments, &error)) {
        stream->base.context->pending = CUDA_ERROR_ILLEGAL_ADDRESS;
        return CUDA_SUCCESS;
    }
    if (error != CL_SUCCESS)
        return abort_launch("an argument", error);
    error = enqueue(stream, work);
    return error == CL_SUCCESS ? CUDA_SUCCESS : abort_launch(work->function->image->name, error);
}

typedef struct host_call {
    CUhostFn function;
    void *user;
} host_call_t;

static void CL_CALLBACK call_host(void *opaque)
{
    const host_call_t *call = opaque;
    call->function(call->user);
}

static CUresult run_host(CUstream stream, const driver_work_t *work)
{
    host_call_t call = {work->host, work->user};
    cl_int error = cl.EnqueueNativeKernel(stream->queue, call_host, &call, sizeof call, 0, NULL, NULL, 0, NULL, NULL);
    return error == CL_SUCCESS ? CUDA_SUCCESS : abort_launch("a function of the host", error);
}

CUresult work_run(CUstream stream, const driver_work_t *work)
{
    CUresult result = CUDA_SUCCESS;
    if (work->function)
        result = run_launch(stream, work);
    else if (work->host)
        result = run_host(stream, work);
    else if (cl.EnqueueSVMMemcpy(stream->queue, CL_FALSE, work->to, work->from, work->bytes, 0, NULL, NULL) !=
             CL_SUCCESS)
        result = abort_launch("a copy", CL_OUT_OF_RESOURCES);
    cl.Flush(stream->queue);
    return result;
}

CUresult work_submit(CUstream stream, driver_work_t *work)
{
    if (!stream->capture) {
        CUresult result = work_run(stream, work);
        work_free(work);
        return result;
    }
    if (stream->capture->invalid) {
        work_free(work);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    recording_add(stream->capture->recording, work);
    return CUDA_SUCCESS;
}

void work_free(driver_work_t *work)
{
    free(work->arguments);
    free(work);
}

/* ---- Entry points -------------------------------------------------------------------------------- */

static CUresult launch(CUstream stream, CUfunction function, const unsigned grid[3], const unsigned block[3],
                       void **arguments)
{
    driver_work_t *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = pack(function->image, arguments, &made->arguments);
    if (result != CUDA_SUCCESS) {
        free(made);
        return result;
    }
    made->function = function;
    memcpy(made->grid, grid, sizeof made->grid);
    memcpy(made->block, block, sizeof made->block);
    return work_submit(stream, made);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                                CUstream handle, void **arguments, void **extra)
{
    driver_call_t here;
    CUstream stream = NULL;
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    CUresult result = call_begin(&here, "cuLaunchKernel", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !(object_is(FUNCTION, function) && function->base.context == here.context))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS && extra)
        result = CUDA_ERROR_NOT_SUPPORTED; /* arguments in one buffer, which rung never uses */
    if (result == CUDA_SUCCESS && (!arguments || !all_are_pointers_in_place(function->image)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_launch(function, grid, block, shared);
    if (result == CUDA_SUCCESS)
        result = launch(stream, function, grid, block, arguments);
    return call_end(&here, result);
}

/* In the stream's order, like everything else. Our cuBLAS computes in one. */
CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function, void *user)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuLaunchHostFunc", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !function)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    driver_work_t *work = result == CUDA_SUCCESS ? calloc(1, sizeof *work) : NULL;
    if (result == CUDA_SUCCESS && !work)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        work->host = function;
        work->user = user;
        result = work_submit(stream, work);
    }
    return call_end(&here, result);
}
