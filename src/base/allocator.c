/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.c - see allocator.h. */
#include "base/allocator.h"

#include <string.h>

#include "base/aligned_memory.h"
#include "base/assert.h"
#include "base/error.h"

static void *default_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    return rungi_aligned_allocate(alignment, bytes);
}

static void default_release(void *user, void *memory)
{
    (void)user;
    rungi_aligned_free(memory);
}

rungi_allocator rungi_allocator_default(void)
{
    return (rungi_allocator){.allocate = default_allocate, .release = default_release};
}

void *rungi_allocator_allocate(const rungi_allocator *allocator, int64_t bytes, size_t alignment)
{
    size_t at_least_one = bytes > 0 ? (size_t)bytes : 1;
    RUNGI_ASSERT(bytes >= 0 && alignment > 0 && (alignment & (alignment - 1)) == 0);
    void *memory = allocator->allocate(allocator->user, at_least_one, alignment);
    if (!memory)
        rungi_fail(RUNG_STATUS_NO_MEMORY, "out of memory: %zu bytes could not be allocated", at_least_one);
    return memory;
}

void *rungi_allocator_allocate_zeroed(const rungi_allocator *allocator, size_t bytes)
{
    void *memory = rungi_allocator_allocate(allocator, (int64_t)bytes, sizeof(max_align_t));
    return memory ? memset(memory, 0, bytes) : NULL;
}

void rungi_allocator_release(const rungi_allocator *allocator, void *memory)
{
    if (memory)
        allocator->release(allocator->user, memory);
}
