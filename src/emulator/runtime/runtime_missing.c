/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_missing.c - functions that are not emulated. Each tells its name once and fails. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "emulator/runtime/runtime.h"

/* Returns what a program can do in place of a call; "" if nothing is known. */
static const char *advice_for(const char *name)
{
    bool is_texture = strstr(name, "Texture") || strstr(name, "Surface") || strstr(name, "Array");
    return is_texture ? "; for the emulated run, read memory of cudaMalloc through a pointer in place of a texture"
                      : "";
}

static cudaError_t missing(const char *name, atomic_flag *was_told)
{
    if (!atomic_flag_test_and_set(was_told))
        fprintf(stderr, "rung: emulated GPU: %s is not emulated; it returns cudaErrorNotSupported%s\n", name,
                advice_for(name));
    return runtime_fail(cudaErrorNotSupported);
}

/* The arguments are not read, so callers may pass any. */
#pragma GCC visibility push(default)
#define MISSING_FUNCTION(name)                          \
    cudaError_t name(void);                             \
    cudaError_t name(void)                              \
    {                                                   \
        static atomic_flag was_told = ATOMIC_FLAG_INIT; \
        return missing(#name, &was_told);               \
    }
#include "emulator/runtime/runtime_missing.def"
#undef MISSING_FUNCTION
#pragma GCC visibility pop
