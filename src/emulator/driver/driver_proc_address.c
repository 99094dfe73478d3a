/* SPDX-License-Identifier: Apache-2.0 */
/* driver_proc_address.c - cuGetProcAddress: the address of a function by its name and the CUDA version that a program was
 * compiled for. */
#include <string.h>

#include "emulator/driver/driver.h"

typedef void (*any_function_t)(void);

static const struct {
    const char *name;
    int since;
    any_function_t function;
} functions[] = {
#define CUDA_FUNCTION(name, suffix, since, arguments) {#name, since, (any_function_t)name##suffix},
#include "emulator/driver/cuda_functions.def"
#undef CUDA_FUNCTION
    /* From CUDA 12 on, programs that name cuGraphInstantiate get another function. */
    {"cuGraphInstantiate", 12000, (any_function_t)cuGraphInstantiateWithFlags},
};

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *status)
{
    int best = -1;
    bool is_known = false;
    if (!symbol || !function || flags > 2)
        return CUDA_ERROR_INVALID_VALUE;
    *function = NULL;
    for (int i = 0; i < (int)(sizeof functions / sizeof *functions); i++) {
        if (strcmp(functions[i].name, symbol) != 0)
            continue;
        is_known = true;
        if (functions[i].since <= version && (best < 0 || functions[i].since > functions[best].since))
            best = i;
    }
    if (status)
        *status = best >= 0  ? CU_GET_PROC_ADDRESS_SUCCESS
                  : is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                             : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (best >= 0)
        memcpy(function, &functions[best].function, sizeof *function);
    return best >= 0 || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = cuGetProcAddress_v2(symbol, function, version, flags, &status);
    return result == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_ERROR_NOT_FOUND : result;
}
