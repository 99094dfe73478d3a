/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - loading images: which of them a device takes, and what it runs for them. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emulated_driver.h"

/* ---- The image's bytes ---------------------------------------------------------------------------- */

enum { LARGEST = 64 << 20, PAGE = 4096 };

/* cuModuleLoadDataEx is told no size, and a damaged header may tell any. So the bytes are
 * fetched by the system, which stops at the end of what is mapped instead of crashing. */
static bool read_image_bytes(const unsigned char *from, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static unsigned char *read_elf_bytes(const unsigned char *from, size_t *size)
{
    unsigned char header[IMAGE_HEADER];
    if (!read_image_bytes(from, header, sizeof header))
        return NULL;
    uint64_t whole = image_elf_size(header);
    unsigned char *bytes = whole <= LARGEST ? malloc((size_t)whole) : NULL;
    if (bytes && !read_image_bytes(from, bytes, (size_t)whole)) {
        free(bytes);
        return NULL;
    }
    *size = (size_t)whole;
    return bytes;
}

/* Up to its zero byte, a page at a time. */
static unsigned char *read_ptx_text(const unsigned char *from, size_t *size)
{
    unsigned char *bytes = NULL;
    for (size_t used = 0; used < LARGEST;) {
        size_t step = PAGE - (uintptr_t)(from + used) % PAGE;
        unsigned char *larger = realloc(bytes, used + step);
        if (!larger || !read_image_bytes(from + used, larger + used, step)) {
            free(larger ? larger : bytes);
            return NULL;
        }
        bytes = larger;
        unsigned char *end = memchr(bytes + used, '\0', step);
        if (end) {
            *size = (size_t)(end - bytes);
            return bytes;
        }
        used += step;
    }
    free(bytes);
    return NULL;
}

static CUresult read_image(const void *from, image_t *image)
{
    size_t size = 0;
    unsigned char start[4];
    bool is_elf = read_image_bytes(from, start, sizeof start) && image_is_elf(start);
    unsigned char *bytes = is_elf ? read_elf_bytes(from, &size) : read_ptx_text(from, &size);
    if (!bytes)
        return CUDA_ERROR_INVALID_IMAGE;
    image_result_t result = image_parse(bytes, size, image);
    free(bytes);
    if (result == IMAGE_OK)
        return CUDA_SUCCESS;
    return result == IMAGE_BAD_PTX ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
}

/* ---- Which images a device takes ------------------------------------------------------------------ */

/* The newest PTX that a driver of this CUDA version compiles: 7.y came with 11.y, 8.y with
 * 12.y, of which 12.6 brought none, and 9.y with 13.y. */
static int newest_ptx(int driver)
{
    int major = driver / 1000, minor = driver % 1000 / 10;
    return (major - 4) * 10 + minor - (major == 12 && minor > 5);
}

static CUresult check_image(const image_t *image)
{
    int device = emulated_gpu_current()->architecture, wanted = image->architecture;
    if (image->is_ptx && image->ptx_version > newest_ptx(emulated_driver_version()))
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    bool runs = image->is_ptx ? wanted <= device : wanted / 10 == device / 10 && wanted <= device;
    if (image->only_architecture)
        runs = wanted == device;
    return runs ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* ---- What is run for it ---------------------------------------------------------------------------- */

static CUresult build(const char *source, const char *options, cl_program *out, char *reason, size_t capacity)
{
    cl_int error;
    cl_program program = cl.CreateProgramWithSource(cl.context, 1, &source, NULL, &error);
    if (!program)
        return CUDA_ERROR_OUT_OF_MEMORY;
    error = cl.BuildProgram(program, 1, &cl.device, options, NULL, NULL);
    if (error != CL_SUCCESS) {
        snprintf(reason, capacity, "OpenCL error %d for %s", (int)error, options);
        cl.GetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, capacity, reason, NULL);
        cl.ReleaseProgram(program);
        return CUDA_ERROR_INVALID_SOURCE;
    }
    *out = program;
    return CUDA_SUCCESS;
}

static CUresult build_image(const image_t *image, cl_program *program, char *reason, size_t capacity)
{
    char *source, *options;
    if (!source_of(image->text, &source, &options, reason, capacity))
        return CUDA_ERROR_INVALID_SOURCE;
    CUresult result = build(source, options, program, reason, capacity);
    free(source);
    free(options);
    return result;
}

/* ---- Modules ----------------------------------------------------------------------------------------- */

/* Where the caller gave a buffer for the compiler's errors. */
static void write_log(const char *reason, unsigned count, const CUjit_option *options, void **values)
{
    char *buffer = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            buffer = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            size = (size_t)(uintptr_t)values[i];
    }
    if (buffer && size > 0)
        snprintf(buffer, size, "%s", reason);
}

static const char *reason_of(CUresult error)
{
    switch (error) {
    case CUDA_ERROR_INVALID_PTX: return "ptxas fatal   : the text does not parse";
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return "ptxas fatal   : Unsupported .version; current version is older";
    default: return "";
    }
}

static CUresult module_new(CUcontext context, const image_t *image, cl_program program, CUmodule *out)
{
    CUmodule module = object_new(MODULE, context, sizeof *module);
    if (!module) {
        cl.ReleaseProgram(program);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    module->program = program;
    module->image = *image;
    *out = module;
    return CUDA_SUCCESS;
}

/* Parsing and compiling are done without the lock. */
static CUresult load(driver_call_t *here, const void *from, CUmodule *out, char *reason, size_t capacity)
{
    static _Thread_local image_t image;
    cl_program program = NULL;
    call_unlock();
    CUresult result = read_image(from, &image);
    if (result == CUDA_SUCCESS)
        result = check_image(&image);
    snprintf(reason, capacity, "%s", reason_of(result));
    if (result == CUDA_SUCCESS) {
        result = build_image(&image, &program, reason, capacity);
        if (result != CUDA_SUCCESS)
            fprintf(stderr, "emulated driver: %s\n", reason);
    }
    call_lock();
    if (result == CUDA_SUCCESS)
        result = module_new(here->context, &image, program, out);
    return result;
}

/* Until 12.3 a module could not be loaded while a stream captures. */
static CUresult forbid_in_capture(void)
{
    return emulated_driver_version() < 12030 ? capture_forbid() : CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *out, const void *from, unsigned int count, CUjit_option *options,
                                    void **values)
{
    driver_call_t here;
    char reason[2000] = "";
    CUresult result = call_begin(&here, "cuModuleLoadDataEx", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && (!out || !from || (count > 0 && (!options || !values))))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = forbid_in_capture();
    if (result == CUDA_SUCCESS) {
        result = load(&here, from, out, reason, sizeof reason);
        write_log(reason, count, options, values);
    }
    return call_end(&here, result);
}

static CUresult unload(CUmodule module)
{
    CUcontext context = module->base.context;
    for (driver_object_t *at = object_next(NULL, context, FUNCTION), *next; at; at = next) {
        next = object_next(at, context, FUNCTION);
        if (((CUfunction)at)->module == module)
            object_destroy(at);
    }
    object_destroy(&module->base);
    return CUDA_SUCCESS;
}

/* Work that runs in it keeps what it needs. */
CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuModuleUnload", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !(object_is(MODULE, module) && module->base.context == here.context))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = unload(module);
    return call_end(&here, result);
}
