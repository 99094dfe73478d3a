/* SPDX-License-Identifier: Apache-2.0 */
/* aligned_memory_windows.c - see base/aligned_memory.h. */
#include <malloc.h>

#include "base/aligned_memory.h"

void *rungi_aligned_allocate(size_t alignment, size_t bytes)
{
    return _aligned_malloc(bytes, alignment);
}

void rungi_aligned_free(void *memory)
{
    _aligned_free(memory);
}
