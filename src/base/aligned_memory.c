/* SPDX-License-Identifier: Apache-2.0 */
/* aligned_memory.c - see aligned_memory.h. */
#include "base/aligned_memory.h"

#include <stdlib.h>

void *rungi_aligned_allocate(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

void rungi_aligned_free(void *memory)
{
    free(memory);
}
