/* SPDX-License-Identifier: Apache-2.0 */
/* driver_library.c - other ways to load code: files, libraries (cuLibrary...) and the linker (cuLink...). A kernel of a
 * library is its function in the context in which the library was loaded first. */
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"

/* ---- Modules ------------------------------------------------------------------------------------------- */

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    return cuModuleLoadData(out, image);
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuModuleGetGlobal_v2", NEEDS_NO_STICKY_ERROR, MODULE, module);
    if (result == CUDA_SUCCESS)
        result = name ? gpu_variable(module->code, name, address, bytes) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

static int64_t kernels_of(CUmodule module)
{
    return rung_emulator_kernel_count(module->code->module);
}

static CUresult list_kernels(CUmodule module, CUfunction *functions, unsigned count)
{
    CUresult result = functions || count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (int64_t i = 0; i < kernels_of(module) && i < count && result == CUDA_SUCCESS; i++)
        result = function_of_kernel(module, rung_emulator_kernel_at(module->code->module, i), &functions[i]);
    return result;
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule module)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuModuleGetFunctionCount", NEEDS_NO_STICKY_ERROR, MODULE, module);
    if (result == CUDA_SUCCESS && !count)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *count = (unsigned)kernels_of(module);
    return call_end(&here, result);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuModuleEnumerateFunctions", NEEDS_NO_STICKY_ERROR, MODULE, module);
    if (result == CUDA_SUCCESS)
        result = list_kernels(module, functions, count);
    return call_end(&here, result);
}

/* ---- Libraries --------------------------------------------------------------------------------------- */

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *options, void **values,
                                   unsigned int count, CUlibraryOption *library_options, void **library_values,
                                   unsigned int library_count)
{
    CUmodule module = NULL;
    (void)library_options, (void)library_values, (void)library_count; /* they concern sharing and copies */
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuModuleLoadDataEx(&module, image, count, options, values);
    if (result != CUDA_SUCCESS)
        return result;
    call_lock();
    CUlibrary library = object_new(LIBRARY, module->base.context, sizeof *library);
    if (library)
        library->module = module;
    call_unlock();
    if (!library) {
        cuModuleUnload(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = library;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *options, void **values,
                                       unsigned int count, CUlibraryOption *library_options, void **library_values,
                                       unsigned int library_count)
{
    size_t bytes = 0;
    char *image = NULL;
    CUresult result = path ? module_read_file(path, &image, &bytes) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = cuLibraryLoadData(out, image, options, values, count, library_options, library_values, library_count);
    free(image);
    return result;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuLibraryUnload", NEEDS_INIT, LIBRARY, library);
    if (result == CUDA_SUCCESS) {
        module_unload(library->module);
        object_destroy(&library->base);
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
    driver_call_t here;
    CUfunction function = NULL;
    CUresult result = call_begin_on(&here, "cuLibraryGetKernel", NEEDS_INIT, LIBRARY, library);
    if (result == CUDA_SUCCESS && (!out || !name))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = function_find(library->module, name, &function);
    if (result == CUDA_SUCCESS)
        *out = (CUkernel)function;
    return call_end(&here, result);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary library)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuLibraryGetKernelCount", NEEDS_INIT, LIBRARY, library);
    if (result == CUDA_SUCCESS && !count)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *count = (unsigned)kernels_of(library->module);
    return call_end(&here, result);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary library)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuLibraryEnumerateKernels", NEEDS_INIT, LIBRARY, library);
    if (result == CUDA_SUCCESS)
        result = list_kernels(library->module, (CUfunction *)kernels, count);
    return call_end(&here, result);
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *out, CUlibrary library)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuLibraryGetModule", NEEDS_INIT, LIBRARY, library);
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = library->module;
    return call_end(&here, result);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuLibraryGetGlobal", NEEDS_INIT, LIBRARY, library);
    if (result == CUDA_SUCCESS)
        result = name ? gpu_variable(library->module->code, name, address, bytes) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    return cuLibraryGetGlobal(address, bytes, library, name);
}

/* ---- Kernels of libraries ------------------------------------------------------------------------------ */

CUresult CUDAAPI cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuKernelGetFunction", NEEDS_INIT);
    if (result == CUDA_SUCCESS && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !object_is(FUNCTION, kernel))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        *out = (CUfunction)kernel;
    return call_end(&here, result);
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *out, CUkernel kernel)
{
    driver_call_t here;
    CUlibrary found = NULL;
    CUresult result = call_begin(&here, "cuKernelGetLibrary", NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!out || !object_is(FUNCTION, kernel)))
        result = CUDA_ERROR_INVALID_VALUE;
    for (driver_object_t *at = object_next(NULL, NULL, LIBRARY); result == CUDA_SUCCESS && at;
         at = object_next(at, NULL, LIBRARY))
        if (((CUlibrary)at)->module == ((CUfunction)kernel)->module)
            found = (CUlibrary)at;
    if (result == CUDA_SUCCESS)
        *out = found;
    return call_end(&here, result == CUDA_SUCCESS && !found ? CUDA_ERROR_NOT_FOUND : result);
}

CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute what, CUkernel kernel, CUdevice device)
{
    (void)device;
    return cuFuncGetAttribute(value, what, (CUfunction)kernel);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute what, int value, CUkernel kernel, CUdevice device)
{
    (void)device;
    return cuFuncSetAttribute((CUfunction)kernel, what, value);
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
    (void)device;
    return cuFuncSetCacheConfig((CUfunction)kernel, config);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel kernel)
{
    return cuFuncGetName(name, (CUfunction)kernel);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
    return cuFuncGetParamInfo((CUfunction)kernel, index, offset, bytes);
}

/* ---- The linker ------------------------------------------------------------------------------------------ */

/* One input of PTX passes through unchanged. Several inputs would have to be linked, which is not supported. */
struct CUlinkState_st {
    driver_object_t base;
    char *text;
    size_t bytes;
    unsigned option_count;
    CUjit_option *options;
    void **values;
};

void link_release(CUlinkState state)
{
    free(state->text);
    free(state->options);
    free(state->values);
}

static bool copy_options(CUlinkState state, unsigned count, const CUjit_option *options, void **values)
{
    state->options = calloc(count + 1, sizeof *options);
    state->values = calloc(count + 1, sizeof *values);
    if (!state->options || !state->values)
        return false;
    for (unsigned i = 0; i < count; i++) {
        state->options[i] = options[i];
        state->values[i] = values[i];
    }
    state->option_count = count;
    return true;
}

CUresult CUDAAPI cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values, CUlinkState *out)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuLinkCreate_v2", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && (!out || (count > 0 && (!options || !values))))
        result = CUDA_ERROR_INVALID_VALUE;
    CUlinkState state = result == CUDA_SUCCESS ? object_new(LINK, here.context, sizeof *state) : NULL;
    if (result == CUDA_SUCCESS && (!state || !copy_options(state, count, options, values)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *out = state;
    return call_end(&here, result);
}

static CUresult add_input(CUlinkState state, CUjitInputType type, const char *data, size_t bytes)
{
    char reason[500] = "";
    if (type == CU_JIT_INPUT_FATBINARY) {
        if (state->text)
            return CUDA_ERROR_NOT_SUPPORTED;
        return fatbin_find_ptx(data, emulated_gpu_current()->architecture, &state->text, &state->bytes, reason,
                               sizeof reason);
    }
    const char *why = type != CU_JIT_INPUT_PTX ? "the emulated driver links PTX only; cubins, objects and libraries "
                                                 "contain code for a GPU"
                      : state->text            ? "the emulated driver does not link several inputs"
                                               : NULL;
    if (why) {
        module_write_log(why, state->option_count, state->options, state->values);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    state->text = malloc(bytes + 1);
    if (!state->text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(state->text, data, bytes);
    state->text[bytes] = '\0';
    state->bytes = bytes;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name,
                                  unsigned int count, CUjit_option *options, void **values)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuLinkAddData_v2", NEEDS_NO_STICKY_ERROR, LINK, state);
    (void)name, (void)count, (void)options, (void)values;
    if (result == CUDA_SUCCESS)
        result = data ? add_input(state, type, data, bytes) : CUDA_ERROR_INVALID_VALUE;
    return call_end(&here, result);
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int count,
                                  CUjit_option *options, void **values)
{
    size_t bytes = 0;
    char *data = NULL;
    CUresult result = path ? module_read_file(path, &data, &bytes) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = cuLinkAddData_v2(state, type, data, bytes, path, count, options, values);
    free(data);
    return result;
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **image, size_t *bytes)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuLinkComplete", NEEDS_NO_STICKY_ERROR, LINK, state);
    if (result == CUDA_SUCCESS && (!image || !state->text))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *image = state->text;
        if (bytes)
            *bytes = state->bytes + 1;
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
    driver_call_t here;
    CUresult result = call_begin_on(&here, "cuLinkDestroy", NEEDS_INIT, LINK, state);
    if (result == CUDA_SUCCESS)
        object_destroy(&state->base);
    return call_end(&here, result);
}
