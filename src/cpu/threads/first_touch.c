/* SPDX-License-Identifier: Apache-2.0 */
/* first_touch.c - spreads memory that all threads read between the NUMA nodes. See pool.h. */
#include "base/checked_arithmetic.h"
#include "cpu/threads/pool.h"

enum { PAGE = 4096, CHUNK = 2 << 20 }; /* a chunk is a huge page: it lies on one node */

typedef struct touched_memory {
    char *first; /* of the first huge page */
    int64_t bytes;
} touched_memory_t;

/* Writes one byte of each page and changes none. */
static void touch_chunk(void *user, int64_t part, char *scratch)
{
    const touched_memory_t *memory = user;
    int64_t end = rungi_min((part + 1) * CHUNK, memory->bytes);
    (void)scratch;
    for (int64_t i = part * CHUNK; i < end; i += PAGE) {
        volatile char *byte = memory->first + i;
        *byte = *byte;
    }
}

void rungi_pool_spread(rungi_pool *pool, char *memory, int64_t bytes)
{
    int64_t padding = (int64_t)(((uintptr_t)CHUNK - (uintptr_t)memory % CHUNK) % CHUNK);
    if (rungi_pool_nodes(pool)->count < 2 || bytes < padding + 2 * (int64_t)CHUNK)
        return;
    touched_memory_t rest = {memory + padding, bytes - padding};
    rungi_pool_run(pool, rungi_pool_threads(pool), 0, rungi_ceil_divide(rest.bytes, CHUNK), touch_chunk, &rest);
}
