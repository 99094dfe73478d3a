/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the CPU device's threads, and the memory that each of them works in. */
#ifndef RUNGI_CPU_POOL_H
#define RUNGI_CPU_POOL_H

#include "core/context.h"

typedef struct rungi_pool rungi_pool;

/* One part of a piece of work. */
typedef void rungi_pool_work(void *user, int64_t part, char *scratch);

rung_status rungi_pool_create(rung_context *context, rungi_pool **pool);
void        rungi_pool_destroy(rungi_pool *pool);

/* How many threads a problem gets for which none are asked. */
int64_t rungi_pool_threads(const rungi_pool *pool);

/* For a plan: sees to it that so many threads, the caller's included, can run with so many
 * bytes of scratch each. */
rung_status rungi_pool_reserve(rungi_pool *pool, int64_t threads, int64_t scratch);

/* Calls work(user, part, scratch) for each part from 0 to parts - 1, on at most so many threads
 * of which the caller's is one, and returns when all are done. Which thread has which part
 * is left to chance. Reserved before; allocates nothing. */
void rungi_pool_run(rungi_pool *pool, int64_t threads, int64_t scratch, int64_t parts,
                    rungi_pool_work *work, void *user);

#endif /* RUNGI_CPU_POOL_H */
