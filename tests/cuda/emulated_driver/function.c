/* SPDX-License-Identifier: Apache-2.0 */
/* function.c - the kernels of a module, and what they ask for and may be given. */
#include <stdio.h>
#include <string.h>

#include "simt/simt.h"
#include "emulated_driver.h"

enum { SHARED_USUAL = 48 * 1024, REGISTERS_BLOCK = 65536, REGISTERS_UNKNOWN = 32 };

/* ---- Finding ---------------------------------------------------------------------------------------- */

static CUfunction known(CUmodule module, const image_function_t *image)
{
    CUcontext context = module->base.context;
    for (driver_object_t *at = object_next(NULL, context, FUNCTION); at; at = object_next(at, context, FUNCTION))
        if (((CUfunction)at)->module == module && ((CUfunction)at)->image == image)
            return (CUfunction)at;
    return NULL;
}

/* The image and the source it names must agree on the arguments. Where the image speaks to a
 * matrix engine, the source has one more: memory to emulate it with. */
static bool agrees(cl_kernel kernel, const image_function_t *image, bool *emulates)
{
    cl_uint count = 0;
    cl.GetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    *emulates = (int)count == RUNGI_SIMT_ARGUMENTS_MAX && image->parameter_count == RUNGI_SIMT_EPILOGUE_ARGUMENTS;
    return (int)count - *emulates == image->parameter_count;
}

static CUresult function_new(CUmodule module, const image_function_t *image, CUfunction *out)
{
    cl_int error;
    bool emulates;
    cl_kernel kernel = cl.CreateKernel(module->program, image->name, &error);
    if (!kernel || !agrees(kernel, image, &emulates)) {
        fprintf(stderr, "emulated driver: %s: the image's %s is not the source's\n", module->image.text, image->name);
        if (kernel)
            cl.ReleaseKernel(kernel);
        return CUDA_ERROR_INVALID_SOURCE;
    }
    CUfunction function = object_new(FUNCTION, module->base.context, sizeof *function);
    if (!function) {
        cl.ReleaseKernel(kernel);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    function->module = module;
    function->image = image;
    function->kernel = kernel;
    function->emulates = emulates;
    function->max_dynamic = SHARED_USUAL - image->shared;
    function->carveout = -1;
    *out = function;
    return CUDA_SUCCESS;
}

static CUresult find(CUmodule module, const char *name, CUfunction *out)
{
    const image_function_t *image = image_find(&module->image, name);
    if (!image)
        return CUDA_ERROR_NOT_FOUND;
    *out = known(module, image);
    return *out ? CUDA_SUCCESS : function_new(module, image, out);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuModuleGetFunction", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && (!out || !name))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !(object_is(MODULE, module) && module->base.context == here.context))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = find(module, name, out);
    return call_end(&here, result);
}

/* ---- Attributes --------------------------------------------------------------------------------------- */

/* So many threads as the kernel was compiled for and the registers last for. */
static int threads_of(const image_function_t *image)
{
    int by_registers = image->registers > 0 ? REGISTERS_BLOCK / ((image->registers + 7) / 8 * 8) / 32 * 32
                                            : image->max_threads;
    return by_registers < image->max_threads ? by_registers : image->max_threads;
}

static CUresult get_attribute(CUfunction function, CUfunction_attribute what, int *value)
{
    const image_function_t *image = function->image;
    switch (what) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = threads_of(image); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = image->shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = image->frame; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = image->registers ? image->registers : REGISTERS_UNKNOWN; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = function->module->image.architecture; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->max_dynamic; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->carveout; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(CUfunction function, CUfunction_attribute what, int value)
{
    if (what == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 && value <= 100) {
        function->carveout = value;
        return CUDA_SUCCESS;
    }
    if (what == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 &&
        value <= emulated_gpu_current()->shared_optin - function->image->shared) {
        function->max_dynamic = value;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult check(const driver_call_t *here, CUfunction function)
{
    return object_is(FUNCTION, function) && function->base.context == here->context ? CUDA_SUCCESS
                                                                                    : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction function)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuFuncGetAttribute", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = value ? check(&here, function) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = get_attribute(function, what, value);
    return call_end(&here, result);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuFuncSetAttribute", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS)
        result = check(&here, function);
    if (result == CUDA_SUCCESS)
        result = set_attribute(function, what, value);
    return call_end(&here, result);
}
