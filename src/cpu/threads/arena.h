/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - scratch memory for threads: each thread acquires one arena at a time. Arenas are allocated in advance and
 * reused. */
#pragma once

#include <semaphore.h>
#include <stdalign.h>

#include "core/context.h"
#include "cpu/threads/nodes.h"

/* On its own cache line, because other threads use its neighbors. */
typedef struct rungi_arena {
    alignas(64) atomic_int state;
    char *memory; /* 4096-byte aligned */
    int64_t bytes;
    int64_t handed_over_ns; /* time of the last hand-over to a waiting thread */
    atomic_int node;        /* NUMA node of the thread that used the memory first; -1: nobody has used it */
} rungi_arena;

/* Arenas of one size. Threads may still use arenas of older sets. */
typedef struct rungi_arena_set {
    struct rungi_arena_set *older;
    int64_t count, bytes;
    rungi_arena arenas[];
} rungi_arena_set;

typedef struct rungi_arena_pool {
    rung_context *context;
    int64_t max_arenas;       /* more arenas than reserved are allocated on demand, up to this number */
    const rungi_nodes *nodes; /* NULL: all memory is equally near */
    _Atomic(rungi_arena_set *) newest_set;
    atomic_int waiting;   /* number of waiting threads */
    pthread_mutex_t lock; /* protects the queue of waiters only */
    struct waiter *first_waiter;
} rungi_arena_pool;

/* Initializes an empty pool with max_arenas 1. The caller may raise max_arenas before anything is reserved. */
void rungi_arena_pool_init(rungi_arena_pool *arenas, rung_context *context);
void rungi_arena_pool_free(rungi_arena_pool *arenas);

/* Ensures that at least `count` arenas of at least `bytes` bytes exist. Does not wait for other threads. */
rung_status rungi_arena_pool_reserve(rungi_arena_pool *arenas, int64_t count, int64_t bytes);

/* Returns an arena of the largest size ever reserved. If none is free, allocates one, up to max_arenas. If that is
 * impossible, rungi_arena_acquire waits and rungi_arena_try_acquire returns NULL. A thread that has an arena must not
 * acquire another: that could deadlock. Reserving and acquiring do not write to the memory: its pages come from the NUMA
 * node of the thread that uses the arena first, and threads of this node prefer the arena afterwards. */
rungi_arena *rungi_arena_acquire(rungi_arena_pool *arenas);
rungi_arena *rungi_arena_try_acquire(rungi_arena_pool *arenas);
void rungi_arena_release(rungi_arena_pool *arenas, rungi_arena *arena);

/* Frees all arenas in the child of a fork: the threads that used them do not exist there. */
void rungi_arena_pool_after_fork(rungi_arena_pool *arenas);

/* Waits for the semaphore. Neither a signal nor a thread cancellation interrupts it, because other threads rely on the
 * caller. */
void rungi_semaphore_wait(sem_t *event);
