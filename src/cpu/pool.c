/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - the CPU device's threads, and the memory that each of them works in. */
#define _GNU_SOURCE /* sched_getaffinity, madvise */
#include "cpu/pool.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

struct rungi_pool {
    rung_context   *context;
    pthread_mutex_t lock;
    char           *scratch;
    int64_t         bytes;
};

rung_status rungi_pool_create(rung_context *context, rungi_pool **pool)
{
    rungi_pool *made = rungi_new(context, sizeof *made);
    *pool = made;
    if (!made)
        return RUNG_NO_MEMORY;
    made->context = context;
    pthread_mutex_init(&made->lock, NULL);
    return RUNG_OK;
}

void rungi_pool_destroy(rungi_pool *pool)
{
    if (!pool)
        return;
    rungi_release(pool->context, pool->scratch);
    pthread_mutex_destroy(&pool->lock);
    rungi_release(pool->context, pool);
}

int64_t rungi_pool_threads(const rungi_pool *pool)
{
    cpu_set_t set;
    (void)pool;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

rung_status rungi_pool_reserve(rungi_pool *pool, int64_t threads, int64_t scratch)
{
    enum { PAGE = 2 << 20 };
    rung_status status = RUNG_OK;
    (void)threads;
    pthread_mutex_lock(&pool->lock);
    if (pool->bytes < scratch) {
        int64_t bytes = (scratch + PAGE - 1) / PAGE * PAGE;
        char *more = rungi_allocate(pool->context, bytes, PAGE);
        if (more) {
            madvise(more, (size_t)bytes, MADV_HUGEPAGE);
            rungi_release(pool->context, pool->scratch);
            pool->scratch = more;
            pool->bytes = bytes;
        } else {
            status = RUNG_NO_MEMORY;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

void rungi_pool_run(rungi_pool *pool, int64_t threads, int64_t scratch, int64_t parts,
                    rungi_pool_work *work, void *user)
{
    (void)threads;
    (void)scratch;
    pthread_mutex_lock(&pool->lock);
    for (int64_t part = 0; part < parts; part++)
        work(user, part, pool->scratch);
    pthread_mutex_unlock(&pool->lock);
}
