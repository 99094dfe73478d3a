/* SPDX-License-Identifier: Apache-2.0 */
/* driver_module.c - loads modules. Only PTX is executed, also from fat binaries; cubins are rejected. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emulator/driver/driver.h"

/* ---- Reading ---------------------------------------------------------------------------- */

enum { TEXT_BYTES_MAX = 64 << 20, PAGE_BYTES = 4096, REASON_BYTES = 2000 };

/* Copies bytes of the process. cuModuleLoadDataEx does not know the size of an image; the system call fails at the end of
 * mapped memory instead of crashing. Where containers forbid the call, the bytes are copied directly. */
bool module_read_bytes(const void *from, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
    ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (copied < 0 && (errno == EPERM || errno == ENOSYS)) {
        memcpy(to, from, bytes);
        return true;
    }
    return copied == (ssize_t)bytes;
}

/* Returns a copy of text that ends with a zero byte, or NULL. */
static char *read_ptx_text(const char *from, size_t *size)
{
    char *bytes = NULL;
    for (size_t used = 0; used < TEXT_BYTES_MAX;) {
        size_t step = PAGE_BYTES - (uintptr_t)(from + used) % PAGE_BYTES;
        char *larger = realloc(bytes, used + step);
        if (!larger || !module_read_bytes(from + used, larger + used, step)) {
            free(larger ? larger : bytes);
            return NULL;
        }
        bytes = larger;
        char *end = memchr(bytes + used, '\0', step);
        if (end) {
            *size = (size_t)(end - bytes);
            return bytes;
        }
        used += step;
    }
    free(bytes);
    return NULL;
}

/* ---- Version and architecture ------------------------------------------------------------------ */

/* Returns the newest PTX version that a driver of this CUDA version compiles: 7.y for 11.y, 8.y for 12.y up to 12.5, one
 * less from 12.6 on, and 9.y for 13.y. */
static int newest_ptx(int driver)
{
    int major = driver / 1000, minor = driver % 1000 / 10;
    return (major - 4) * 10 + minor - (major == 12 && minor > 5);
}

/* Skips blanks and comments. */
static const char *skip_blanks(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (strncmp(at, "//", 2) == 0)
            at += strcspn(at, "\n");
        else if (strncmp(at, "/*", 2) == 0 && strstr(at, "*/"))
            at = strstr(at, "*/") + 2;
        else
            return at;
    }
}

/* Reads `word` and a number at `*at`, and moves `*at` behind them. Returns false if the text differs. */
static bool read_number(const char **at, const char *word, int *number)
{
    enum { NUMBER_MAX = 9999 };
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    char *end;
    long value = strtol(*at + length, &end, 10);
    if (end == *at + length || value < 0 || value > NUMBER_MAX)
        return false;
    *at = end;
    *number = (int)value;
    return true;
}

/* Checks the two directives that PTX begins with, and returns the architecture. */
static CUresult check_ptx(const char *text, int *architecture)
{
    static const char target[] = ".target";
    int major, minor, device = emulated_gpu_current()->architecture;
    const char *at = skip_blanks(text);
    if (!read_number(&at, ".version", &major) || !read_number(&at, ".", &minor))
        return CUDA_ERROR_INVALID_PTX;
    if (major * 10 + minor > newest_ptx(emulated_driver_version()))
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    at = skip_blanks(at + strcspn(at, "\n"));
    if (strncmp(at, target, sizeof target - 1) != 0)
        return CUDA_ERROR_INVALID_PTX;
    at = skip_blanks(at + sizeof target - 1);
    if (!read_number(&at, "sm_", architecture))
        return CUDA_ERROR_INVALID_PTX;
    bool runs = *at == 'a' ? *architecture == device : *architecture <= device;
    return runs ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* ---- Modules ----------------------------------------------------------------------------------------- */

/* Writes the reason into the error log of the caller. */
void module_write_log(const char *reason, unsigned count, const CUjit_option *options, void **values)
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
    case CUDA_ERROR_INVALID_PTX: return "the text does not begin with .version and .target";
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return "ptxas fatal   : Unsupported .version; current version is older";
    default: return "";
    }
}

static CUresult module_new(CUcontext context, driver_code_t *code, int architecture, CUmodule *out)
{
    CUmodule module = object_new(MODULE, context, sizeof *module);
    if (!module) {
        gpu_code_release(code);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    module->code = code;
    module->architecture = architecture;
    *out = module;
    return CUDA_SUCCESS;
}

/* Returns a copy of the PTX of an image. */
static CUresult read_ptx(const void *from, char **text, size_t *size, char *reason, size_t capacity)
{
    if (fatbin_is(from))
        return fatbin_find_ptx(from, emulated_gpu_current()->architecture, text, size, reason, capacity);
    *text = read_ptx_text(from, size);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult load_ptx(const void *from, driver_code_t **code, int *architecture, char *reason, size_t capacity)
{
    size_t size = 0;
    char *text = NULL;
    CUresult result = read_ptx(from, &text, &size, reason, capacity);
    if (result != CUDA_SUCCESS)
        return result;
    result = check_ptx(text, architecture);
    snprintf(reason, capacity, "%s", reason_of(result));
    if (result == CUDA_SUCCESS)
        result = gpu_load(text, size, code, reason, capacity);
    free(text);
    return result;
}

/* Loads without the lock. */
CUresult module_load(driver_call_t *here, const void *from, CUmodule *out, char *reason, size_t capacity)
{
    static const char elf[4] = "\177ELF";
    char start[4] = "";
    driver_code_t *code = NULL;
    int architecture = 0;
    call_unlock();
    bool is_elf = module_read_bytes(from, start, sizeof start) && memcmp(start, elf, sizeof elf) == 0;
    CUresult result = is_elf ? CUDA_ERROR_NO_BINARY_FOR_GPU : load_ptx(from, &code, &architecture, reason, capacity);
    call_lock();
    return result == CUDA_SUCCESS ? module_new(here->context, code, architecture, out) : result;
}

/* Drivers before 12.3 do not load modules while a stream captures. */
static CUresult forbid_in_capture(void)
{
    return emulated_driver_version() < 12030 ? capture_forbid() : CUDA_SUCCESS;
}

/* Loads an image for one of the functions below, unless `arguments` is an error. `reason` is for the log of the caller. */
static CUresult load_module(const char *symbol, CUmodule *out, const void *from, CUresult arguments, char *reason,
                            size_t capacity)
{
    driver_call_t here;
    CUresult result = call_begin(&here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = out ? arguments : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !from)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = forbid_in_capture();
    if (result == CUDA_SUCCESS)
        result = module_load(&here, from, out, reason, capacity);
    return call_end(&here, result);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *out, const void *from, unsigned int count, CUjit_option *options,
                                    void **values)
{
    char reason[REASON_BYTES] = "";
    bool is_valid = count == 0 || (options && values);
    CUresult result = load_module("cuModuleLoadDataEx", out, from, is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
                                  reason, sizeof reason);
    if (is_valid)
        module_write_log(reason, count, options, values);
    return result;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *out, const void *from)
{
    char reason[REASON_BYTES];
    return load_module("cuModuleLoadData", out, from, CUDA_SUCCESS, reason, sizeof reason);
}

CUresult module_read_file(const char *path, char **bytes, size_t *read)
{
    FILE *file = fopen(path, "rbe");
    CUresult result = CUDA_SUCCESS;
    size_t size = 0;
    *bytes = NULL;
    if (!file)
        return CUDA_ERROR_FILE_NOT_FOUND;
    while (result == CUDA_SUCCESS && !feof(file)) {
        char *larger = size < TEXT_BYTES_MAX ? realloc(*bytes, size + PAGE_BYTES + 1) : NULL;
        if (larger) {
            *bytes = larger;
            size += fread(larger + size, 1, PAGE_BYTES, file);
            larger[size] = '\0';
        }
        if (!larger || ferror(file))
            result = larger ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_OUT_OF_MEMORY;
    }
    (void)fclose(file);
    *read = size;
    return result;
}

CUresult CUDAAPI cuModuleLoad(CUmodule *out, const char *path)
{
    char reason[REASON_BYTES], *bytes = NULL;
    size_t size;
    CUresult result = path ? module_read_file(path, &bytes, &size) : CUDA_ERROR_INVALID_VALUE;
    result = load_module("cuModuleLoad", out, bytes, result, reason, sizeof reason);
    free(bytes);
    return result;
}

void module_unload(CUmodule module)
{
    CUcontext context = module->base.context;
    for (driver_object_t *at = object_next(NULL, context, FUNCTION), *next; at; at = next) {
        next = object_next(at, context, FUNCTION);
        if (((CUfunction)at)->module == module)
            object_destroy(at);
    }
    object_destroy(&module->base);
}

/* Work in flight keeps the code. */
CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuModuleUnload", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !(object_is(MODULE, module) && module->base.context == here.context))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        module_unload(module);
    return call_end(&here, result);
}
