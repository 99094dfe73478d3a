/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the CPU's threads, a context's, and the memory that each of them works in. */
#ifndef RUNGI_CPU_POOL_H
#define RUNGI_CPU_POOL_H

#include "core/context.h"

typedef struct rungi_pool rungi_pool;

/* One part of a piece of work. It may run other work, if that needs no scratch. */
typedef void rungi_pool_work(void *user, int64_t part, char *scratch);

/* Makes no threads yet. Destroying waits for those that it has, once no work is left. */
rung_status rungi_pool_create(rung_context *context, rungi_pool **pool);
void rungi_pool_destroy(rungi_pool *pool);

/* How many threads a problem gets for which none are asked: the context's, else as many as there
 * are processors. */
int64_t rungi_pool_threads(const rungi_pool *pool);
int64_t rungi_pool_processors(const rungi_pool *pool);

/* For a plan: sees to it that so many threads, the caller's included, can run with so many
 * bytes of scratch each. Threads that cannot be made are told in the log; fewer do the work then. */
rung_status rungi_pool_reserve(rungi_pool *pool, int64_t threads, int64_t scratch);

/* Calls work(user, part, scratch) for each part from 0 to parts - 1, on at most so many threads
 * of which the caller's is one, and returns when all are done. Which thread has which part
 * is left to chance, and so is how many there are: if another caller has the pool's threads, this
 * one works alone. With scratch it may have to wait until another caller's comes free. Reserved
 * before; allocates nothing, but where threads are missing (in a fork's child, or after they
 * could not be made), and where more threads run at once than were ever reserved. */
void rungi_pool_run(rungi_pool *pool, int64_t threads, int64_t scratch, int64_t parts, rungi_pool_work *work,
                    void *user);

/* In a fork's child, which has one thread. */
void rungi_pool_forked(rungi_pool *pool);

#endif /* RUNGI_CPU_POOL_H */
