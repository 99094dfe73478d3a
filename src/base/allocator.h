/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.h - the memory functions of a context: the caller's, or aligned malloc and free. */
#pragma once

#include "rung/rung.h"

typedef struct rungi_allocator {
    rung_allocate_function allocate;
    rung_release_function release;
    void *user; /* first argument of both functions */
} rungi_allocator;

/* Returns the allocator that uses base/aligned_memory.h. */
rungi_allocator rungi_allocator_default(void);

/* Returns memory, or NULL after rungi_fail(RUNG_STATUS_NO_MEMORY). A request for 0 bytes allocates one byte. */
void *rungi_allocator_allocate(const rungi_allocator *allocator, int64_t bytes, size_t alignment);

/* Returns zeroed memory for any type, or NULL after rungi_fail(RUNG_STATUS_NO_MEMORY). */
void *rungi_allocator_allocate_zeroed(const rungi_allocator *allocator, size_t bytes);

/* Returns RUNG_STATUS_NO_MEMORY if an allocation returned NULL, else RUNG_OK: TRY(rungi_allocated(memory)). */
static inline rung_status rungi_allocated(const void *memory)
{
    return memory ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

/* Releases memory of this allocator. NULL is allowed. */
void rungi_allocator_release(const rungi_allocator *allocator, void *memory);
