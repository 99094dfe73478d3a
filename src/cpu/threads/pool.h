/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the worker threads of a context's CPU devices, the scratch memory of each, and the number of processors. If the
 * context has a parallel_for function, the caller's threads take the place of the workers. */
#pragma once

#include "core/context.h"
#include "cpu/threads/nodes.h"

typedef struct rungi_pool rungi_pool;

/* Computes one part of a job. May run another job, if that one needs no scratch. Must not wait for another part: one thread
 * may compute all parts, in any order. */
typedef void rungi_pool_work(void *user, int64_t part, char *scratch);

/* Creates a pool without threads. Destroying waits for the threads; no job may be running. */
rung_status rungi_pool_create(rung_context *context, rungi_pool **pool);
void rungi_pool_destroy(rungi_pool *pool);

/* Returns the default number of threads: that of the context, or the number of available processors. */
int64_t rungi_pool_threads(const rungi_pool *pool);
int64_t rungi_pool_processors(const rungi_pool *pool);

/* Returns the machine's NUMA nodes. Tests replace them before the first job. */
rungi_nodes *rungi_pool_nodes(rungi_pool *pool);

/* Ensures that `threads` threads, including the caller, can run with `scratch` bytes each. If threads cannot be created, a
 * log line reports it, and fewer threads do the work. With the caller's parallel_for, no thread is created. */
rung_status rungi_pool_reserve(rungi_pool *pool, int64_t threads, int64_t scratch);

/* Calls work(user, part, scratch) for each part from 0 to parts - 1, on at most `threads` threads including the caller, and
 * returns when all parts are done. Parts are assigned dynamically, in ascending order if there is one NUMA node. With
 * several, each node has a range of adjacent parts, and its threads compute other parts only after this range.
 *
 * If another caller owns the workers, the caller works alone. If other callers run jobs of several threads, fewer workers
 * help, so that no more threads than processors compute. With the caller's parallel_for, every caller uses it, except from
 * inside a part. With scratch it may wait for another caller's arena. After rungi_pool_reserve it allocates only if threads
 * are missing (after a fork, or when they could not be created) or if more threads run at once than were ever reserved. */
void rungi_pool_run(rungi_pool *pool, int64_t threads, int64_t scratch, int64_t parts, rungi_pool_work *work,
                    void *user);

/* Lets threads of all nodes touch memory first, so that its pages are spread between the nodes. Does nothing if there is
 * one node. The content stays the same; no other thread may use the memory meanwhile. */
void rungi_pool_spread(rungi_pool *pool, char *memory, int64_t bytes);

/* Resets the pool in the child of a fork, which has one thread. */
void rungi_pool_after_fork(rungi_pool *pool);

/* ---- processors.c: how many processors this process may use ---- */

/* Returns the number of processors that the calling thread may run on, limited by the CPU quota of its control groups
 * (rounded up). At least 1. */
int64_t rungi_processors_count(void);

/* Fills a bit set of `bytes` bytes, one bit per processor. Returns 0, or -1 with errno EINVAL if the set is too small. */
typedef int rungi_affinity_function(size_t bytes, void *set);

/* Return the two limits of the count; 0 if a limit is unknown. `root` is a prefix of /proc and /sys, for tests. */
int64_t rungi_processors_in_affinity(rungi_affinity_function *affinity);
int64_t rungi_processors_in_cgroup_quota(const char *root);
