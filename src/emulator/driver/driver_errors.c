/* SPDX-License-Identifier: Apache-2.0 */
/* driver_errors.c - names and descriptions of errors. */
#include "emulator/driver/driver.h"

static CUresult look_up(CUresult error, const char **name, const char **text)
{
    switch (error) {
#define CUDA_ERROR_CODE(number, driver, runtime, words) \
    case driver:                                        \
        *name = #driver;                                \
        *text = words;                                  \
        return CUDA_SUCCESS;
#include "emulator/driver/cuda_errors.def"
#undef CUDA_ERROR_CODE
    default:
        *name = NULL;
        *text = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
    const char *text;
    return name ? look_up(error, name, &text) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    const char *name;
    return text ? look_up(error, &name, text) : CUDA_ERROR_INVALID_VALUE;
}
