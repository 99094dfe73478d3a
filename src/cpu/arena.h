/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that threads work in, one arena a thread at a time, made before it is needed
 * and used again and again. */
#ifndef RUNGI_CPU_ARENA_H
#define RUNGI_CPU_ARENA_H

#include <semaphore.h>
#include <stdalign.h>

#include "core/context.h"

/* On a cache line of its own: neighbours are other threads'. */
typedef struct rungi_arena {
    alignas(64) atomic_int state;
    char *memory; /* at a multiple of 4096 */
    int64_t bytes;
    int64_t handed_over; /* when it was last given to one who waited, in nanoseconds */
} rungi_arena;

/* Arenas of one size, the newest and largest shelf first. Those of an older shelf are still used
 * by whoever has them. */
typedef struct rungi_shelf {
    struct rungi_shelf *older;
    int64_t count, bytes;
    rungi_arena arenas[];
} rungi_shelf;

typedef struct rungi_arenas {
    rung_context *context;
    int64_t most; /* arenas beyond what is reserved are made up to this number, as needed */
    _Atomic(rungi_shelf *) shelf;
    atomic_int waiting;   /* threads that found none free */
    pthread_mutex_t lock; /* of their queue, and of nothing else */
    struct waiter *first;
} rungi_arenas;

/* `most` is 1; the caller may set it to more before anything is reserved. */
void rungi_arenas_init(rungi_arenas *arenas, rung_context *context);
void rungi_arenas_free(rungi_arenas *arenas);

/* Sees to it that there are so many arenas, and of so many bytes. Waits for nobody. */
rung_status rungi_arenas_reserve(rungi_arenas *arenas, int64_t count, int64_t bytes);

/* An arena of all bytes that were ever reserved. If none is free, another one is allocated, up to
 * `most`; if that cannot be, the first waits until one is free, and the second gives NULL. Whoever
 * has one must not ask for another, or all may wait for each other. */
rungi_arena *rungi_arena_take(rungi_arenas *arenas);
rungi_arena *rungi_arena_try(rungi_arenas *arenas);
void rungi_arena_give(rungi_arenas *arenas, rungi_arena *arena);

/* In a fork's child, which has one thread: all who had arenas are gone. */
void rungi_arenas_forked(rungi_arenas *arenas);

/* Waits for it; neither a signal nor a cancellation of the thread comes in between, since others rely on what it has
 * begun. */
void rungi_sleep_until(sem_t *event);

#endif /* RUNGI_CPU_ARENA_H */
