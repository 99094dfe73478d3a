/* SPDX-License-Identifier: Apache-2.0 */
/* driver_function.c - functions of modules, and their attributes. */
#include "emulator/driver/driver.h"

/* The number of registers is a decision of ptxas; callers get a typical one. */
enum { DEFAULT_SHARED_BYTES = 48 * 1024, TYPICAL_REGISTERS = 32, THREADS_MAX = 1024 };

/* ---- Finding ---------------------------------------------------------------------------------------- */

static CUfunction find_known(CUmodule module, const rung_emulator_kernel *kernel)
{
    CUcontext context = module->base.context;
    for (driver_object_t *at = object_next(NULL, context, FUNCTION); at; at = object_next(at, context, FUNCTION))
        if (((CUfunction)at)->module == module && ((CUfunction)at)->kernel == kernel)
            return (CUfunction)at;
    return NULL;
}

static int static_shared_of(CUfunction function)
{
    return (int)rung_emulator_kernel_get_info(function->kernel)->static_shared_bytes;
}

static CUresult function_new(CUmodule module, rung_emulator_kernel *kernel, CUfunction *out)
{
    CUfunction function = object_new(FUNCTION, module->base.context, sizeof *function);
    if (!function)
        return CUDA_ERROR_OUT_OF_MEMORY;
    function->module = module;
    function->kernel = kernel;
    function->max_dynamic = DEFAULT_SHARED_BYTES - static_shared_of(function);
    function->carveout = -1;
    *out = function;
    return CUDA_SUCCESS;
}

CUresult function_of_kernel(CUmodule module, rung_emulator_kernel *kernel, CUfunction *out)
{
    *out = find_known(module, kernel);
    return *out ? CUDA_SUCCESS : function_new(module, kernel, out);
}

CUresult function_find(CUmodule module, const char *name, CUfunction *out)
{
    rung_emulator_kernel *kernel = NULL;
    if (rung_emulator_kernel_find(module->code->module, name, &kernel) != RUNG_OK)
        return CUDA_ERROR_NOT_FOUND;
    return function_of_kernel(module, kernel, out);
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
        result = function_find(module, name, out);
    return call_end(&here, result);
}

/* ---- Attributes --------------------------------------------------------------------------------------- */

/* Returns the largest block that the PTX allows. */
static int max_threads_of(const rung_emulator_kernel_info *info)
{
    const uint32_t *limit = info->required_block[0] ? info->required_block : info->max_block;
    uint64_t threads = (uint64_t)limit[0] * (limit[1] ? limit[1] : 1) * (limit[2] ? limit[2] : 1);
    return threads > 0 && threads < THREADS_MAX ? (int)threads : THREADS_MAX;
}

static CUresult get_attribute(CUfunction function, CUfunction_attribute what, int *value)
{
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(function->kernel);
    switch (what) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = max_threads_of(info); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)info->static_shared_bytes; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)info->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = TYPICAL_REGISTERS; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = function->module->architecture; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->max_dynamic; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = 0; break;
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
    if (what >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH &&
        what <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        return CUDA_SUCCESS; /* launches state their clusters */
    if (what == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 &&
        value <= emulated_gpu_current()->shared_per_block - static_shared_of(function)) {
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
