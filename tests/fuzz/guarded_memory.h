/* SPDX-License-Identifier: Apache-2.0 */
/* guarded_memory.h - memory between two pages that cannot be accessed. A view that ends at the second one catches every
 * access behind it, also in files that are compiled without sanitizers, such as micro-kernels. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guarded_memory {
    unsigned char *start;
    size_t bytes; /* a multiple of the page */
} guarded_memory_t;

static inline guarded_memory_t guarded_create(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guarded_memory_t memory = {.bytes = (bytes + page - 1) / page * page};
    unsigned char *all = mmap(NULL, memory.bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, memory.bytes, PROT_READ | PROT_WRITE) != 0)
        abort();
    memory.start = all + page;
    return memory;
}
