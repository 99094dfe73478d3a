/* SPDX-License-Identifier: Apache-2.0 */
/* abi_check.c - holds every line of the library's src/cuda/cuda_driver.h against NVIDIA's own cuda.h.
 * It is enough that it compiles. */
#define __CUDA_API_VERSION_INTERNAL /* every version of a function under its own name */
#include <cuda.h>

#include "cuda/cuda_driver.h"

/* An enum without negative values is an unsigned int to both GCC and Clang. */
#define X(name, symbol, since, arguments)                                                           \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), rungi_cu_result(*) arguments), \
                   #symbol " has other arguments in cuda.h");
RUNGI_CU_FUNCTION_LIST(X)
#undef X

#define X(name, value) _Static_assert((int)CU_##name == (value), "CU_" #name " is another number in cuda.h");
RUNGI_CU_CONSTANT_LIST(X)
#undef X

_Static_assert(sizeof(rungi_cu_result) == sizeof(CUresult), "CUresult");
_Static_assert(sizeof(rungi_cu_pointer) == sizeof(CUdeviceptr), "CUdeviceptr");
