/* SPDX-License-Identifier: Apache-2.0 */
/* cublas_library.c - see cublas_library.h. */
#include "cuda/cublas_library.h"

#include "base/dynamic_library.h"
#include "cuda/cuda_library_paths.h"

void rungi_cublas_load(rungi_cublas *blas, int driver_version)
{
    static const struct {
        int major;
        const char *name;
    } libraries[] = {{13, "libcublas.so.13"}, {12, "libcublas.so.12"}};
    for (size_t i = 0; !blas->library && i < sizeof libraries / sizeof *libraries; i++) {
        /* A driver does not support cuBLAS of a later major version. */
        void *library = libraries[i].major <= driver_version / 1000 ? rungi_cuda_library_open(libraries[i].name) : NULL;
        bool all = library != NULL;
#define X(name, symbol, arguments) all = all && rungi_library_symbol(library, symbol, &blas->name, sizeof blas->name);
        RUNGI_CUBLAS_FUNCTION_LIST(X)
#undef X
        blas->library = all ? library : NULL;
    }
}
