/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - see arena.h. Packed panels take megabytes per thread, and the system needs longer to provide them than a small
 * multiply takes.
 *
 * There are at most as many arenas as threads can usefully compute. A thread that finds all of them in use waits for one,
 * so two hundred threads that multiply at once need no more memory than two. No deadlock is possible: a thread that has an
 * arena neither acquires a second nor waits for a thread that does.
 *
 * A plan reserves arenas for its threads. The other arenas of a set are allocated when more threads compute at once than any
 * plan has reserved.
 *
 * When larger arenas are needed, a new set is published in front of the old one. Unused arenas of old sets are freed then,
 * the others when the next set is published or the device is closed. The set itself remains, because a thread may still be
 * searching it. */
#define _GNU_SOURCE /* madvise */
#include "cpu/threads/arena.h"

#include <sys/mman.h>

#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/clock.h"
#include "base/try.h"

enum { ARENA_UNALLOCATED, ARENA_FREE, ARENA_IN_USE, ARENA_FREED }; /* states of an arena */

enum { UNTOUCHED = -1, ANY_NODE = -1 }; /* instead of the number of a node */

enum { SMALL_PAGE = 4096, LARGE_PAGE = 2 << 20 };

void rungi_arena_pool_init(rungi_arena_pool *arenas, rung_context *context)
{
    *arenas = (rungi_arena_pool){.context = context, .max_arenas = 1};
    pthread_mutex_init(&arenas->lock, NULL);
}

/* ---- Waiting -------------------------------------------------------------------------------------- */

void rungi_semaphore_wait(sem_t *event)
{
    RUNGI_DISABLE_CANCELLATION;
    while (sem_wait(event) != 0) /* interrupted by a signal */
        continue;
}

/* A waiting thread. Lives on the stack of that thread. */
typedef struct waiter {
    struct waiter *next;
    rungi_arena *arena; /* handed over to this thread */
    sem_t wake;         /* try again */
    bool is_woken;
} waiter_t;

/* Wakes one thread. Requires the lock. A thread that gets an arena wakes the next, because several may be free. */
static void wake_waiter(waiter_t *waiter)
{
    if (waiter && !waiter->is_woken) {
        waiter->is_woken = true;
        sem_post(&waiter->wake);
    }
}

static void wake_first_waiter(rungi_arena_pool *arenas)
{
    if (atomic_load(&arenas->waiting) == 0)
        return;
    pthread_mutex_lock(&arenas->lock);
    wake_waiter(arenas->first_waiter);
    pthread_mutex_unlock(&arenas->lock);
}

/* Requires the lock. */
static void join_queue(rungi_arena_pool *arenas, waiter_t *self)
{
    waiter_t **end = &arenas->first_waiter;
    while (*end)
        end = &(*end)->next;
    *end = self;
    atomic_fetch_add(&arenas->waiting, 1);
}

/* Requires the lock. */
static void leave_queue(rungi_arena_pool *arenas, waiter_t *self)
{
    waiter_t **link = &arenas->first_waiter;
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
    atomic_fetch_sub(&arenas->waiting, 1);
}

/* ---- Allocating --------------------------------------------------------------------------------------- */

/* Rounds up to a few sizes, so that slowly growing requests do not create a set each. Large arenas are whole huge pages,
 * which cause fewer TLB misses. */
static int64_t round_up_arena_size(int64_t bytes)
{
    int64_t size = SMALL_PAGE;
    while (size < bytes && size < LARGE_PAGE / 8)
        size *= 2;
    return size < bytes ? rungi_round_up(bytes, LARGE_PAGE) : size;
}

static char *allocate_arena_memory(rung_context *context, int64_t bytes)
{
    char *memory = rungi_allocate(context, bytes, bytes < LARGE_PAGE ? SMALL_PAGE : LARGE_PAGE);
    if (memory && bytes >= LARGE_PAGE)
        madvise(memory, (size_t)bytes, MADV_HUGEPAGE); /* a hint: huge pages cause fewer TLB misses */
    return memory;
}

/* Frees the memory of unused arenas. */
static void free_idle_arenas(rung_context *context, rungi_arena_set *set)
{
    for (int64_t i = 0; i < set->count; i++) {
        int was = ARENA_FREE;
        if (atomic_compare_exchange_strong(&set->arenas[i].state, &was, ARENA_FREED))
            rungi_release(context, set->arenas[i].memory);
    }
}

/* Acquires an arena without memory and allocates its memory. Returns NULL if there is none, or if allocation fails. */
static rungi_arena *allocate_one_arena(rung_context *context, rungi_arena_set *set)
{
    RUNGI_DISABLE_CANCELLATION;
    for (int64_t i = 0; i < set->count; i++) {
        rungi_arena *arena = &set->arenas[i];
        int was = ARENA_UNALLOCATED;
        if (atomic_load(&arena->state) != ARENA_UNALLOCATED ||
            !atomic_compare_exchange_strong(&arena->state, &was, ARENA_IN_USE))
            continue;
        arena->memory = allocate_arena_memory(context, set->bytes);
        if (!arena->memory)
            atomic_store(&arena->state, ARENA_UNALLOCATED);
        return arena->memory ? arena : NULL;
    }
    return NULL;
}

static int64_t count_allocated(const rungi_arena_set *set)
{
    int64_t allocated = 0;
    for (int64_t i = 0; set && i < set->count; i++)
        allocated += atomic_load(&set->arenas[i].state) != ARENA_UNALLOCATED;
    return allocated;
}

/* Allocates memory until `count` arenas of the set have it. */
static rung_status allocate_arenas(rung_context *context, rungi_arena_set *set, int64_t count)
{
    while (count_allocated(set) < count) {
        rungi_arena *arena = allocate_one_arena(context, set);
        if (arena)
            atomic_store(&arena->state, ARENA_FREE);
        else if (count_allocated(set) < count)
            return RUNG_STATUS_NO_MEMORY;
    }
    return RUNG_OK;
}

static rungi_arena_set *create_arena_set(rung_context *context, int64_t count, int64_t bytes)
{
    int64_t size = (int64_t)sizeof(rungi_arena_set) + count * (int64_t)sizeof(rungi_arena);
    rungi_arena_set *set = rungi_allocate(context, size, alignof(rungi_arena_set));
    if (!set)
        return NULL;
    set->bytes = bytes;
    for (set->count = 0; set->count < count; set->count++)
        set->arenas[set->count] = (rungi_arena){.state = ARENA_UNALLOCATED, .bytes = bytes, .node = UNTOUCHED};
    return set;
}

static void destroy_arena_set(rung_context *context, rungi_arena_set *set)
{
    free_idle_arenas(context, set);
    rungi_release(context, set);
}

/* Publishes a set that is at least as large as `before` in count and bytes, with memory for at least `count` arenas, unless
 * another thread has published one meanwhile. */
static rung_status publish_arena_set(rungi_arena_pool *arenas, rungi_arena_set *before, int64_t count, int64_t bytes)
{
    int64_t capacity = rungi_max(count, arenas->max_arenas), allocated = count_allocated(before);
    if (before) {
        capacity = rungi_max(capacity, before->count);
        bytes = rungi_max(bytes, before->bytes);
    }
    rungi_arena_set *new_set = create_arena_set(arenas->context, capacity, round_up_arena_size(bytes));
    if (!new_set)
        return RUNG_STATUS_NO_MEMORY;
    if (allocate_arenas(arenas->context, new_set, count) != RUNG_OK) {
        destroy_arena_set(arenas->context, new_set);
        return RUNG_STATUS_NO_MEMORY;
    }
    /* As many as the previous set had, for plans created earlier. Failures are ignored: runs of those plans allocate what is
     * missing, or wait for another arena. */
    rungi_saved_error error = rungi_error_save();
    allocate_arenas(arenas->context, new_set, allocated);
    rungi_error_restore(&error);
    new_set->older = before;
    if (!atomic_compare_exchange_strong(&arenas->newest_set, &before, new_set)) {
        destroy_arena_set(arenas->context, new_set);
        return RUNG_OK;
    }
    wake_first_waiter(arenas);
    for (rungi_arena_set *older = new_set->older; older; older = older->older)
        free_idle_arenas(arenas->context, older);
    return RUNG_OK;
}

rung_status rungi_arena_pool_reserve(rungi_arena_pool *arenas, int64_t count, int64_t bytes)
{
    for (bool is_done = false; !is_done;) {
        rungi_arena_set *set = atomic_load(&arenas->newest_set);
        if (!set || set->count < count || set->bytes < bytes) {
            TRY(publish_arena_set(arenas, set, count, bytes));
            continue;
        }
        TRY(allocate_arenas(arenas->context, set, count));
        is_done = atomic_load(&arenas->newest_set) == set; /* otherwise a newer set may have fewer arenas with memory */
    }
    wake_first_waiter(arenas);
    return RUNG_OK;
}

void rungi_arena_pool_free(rungi_arena_pool *arenas)
{
    rungi_arena_set *set = atomic_load(&arenas->newest_set);
    while (set) {
        rungi_arena_set *older = set->older;
        destroy_arena_set(arenas->context, set);
        set = older;
    }
    pthread_mutex_destroy(&arenas->lock);
}

/* ---- Acquiring and releasing ---------------------------------------------------------------------------------------- */

/* Index of the arena that this thread used last: probably free, and in the cache of this processor. */
static _Thread_local int64_t last_arena_index;

/* Tries to allocate an arena. Ignores failures: the caller waits for another arena. Not inlined, because it is rare and
 * needs much stack. */
static __attribute__((noinline)) rungi_arena *try_allocate_one_arena(rungi_arena_pool *arenas, rungi_arena_set *set)
{
    rungi_saved_error before = rungi_error_save();
    rungi_arena *arena = allocate_one_arena(arenas->context, set);
    rungi_error_restore(&before);
    return arena;
}

/* Acquires a free arena that nobody has used or that lies on this node. */
static rungi_arena *try_acquire_on_node(rungi_arena_set *set, int node)
{
    int64_t index = last_arena_index < set->count ? last_arena_index : 0;
    for (int64_t i = 0; i < set->count; i++) {
        rungi_arena *arena = &set->arenas[index];
        int was = ARENA_FREE, of_arena = node == ANY_NODE ? node : atomic_load(&arena->node);
        if (atomic_load(&arena->state) == ARENA_FREE && (of_arena == node || of_arena == UNTOUCHED) &&
            atomic_compare_exchange_strong(&arena->state, &was, ARENA_IN_USE)) {
            last_arena_index = index;
            return arena;
        }
        index = index + 1 < set->count ? index + 1 : 0;
    }
    return NULL;
}

/* Records the node of an arena that this thread is the first to use. */
static rungi_arena *note_node(rungi_arena *arena, int node)
{
    if (arena && atomic_load(&arena->node) == UNTOUCHED)
        atomic_store(&arena->node, node);
    return arena;
}

/* Acquires a free arena, of this thread's node if possible. */
static rungi_arena *try_acquire_free_arena(const rungi_arena_pool *arenas, rungi_arena_set *set)
{
    if (!arenas->nodes || arenas->nodes->count < 2)
        return try_acquire_on_node(set, ANY_NODE);
    int node = rungi_nodes_current(arenas->nodes);
    rungi_arena *arena = try_acquire_on_node(set, node);
    return note_node(arena ? arena : try_acquire_on_node(set, ANY_NODE), node);
}

rungi_arena *rungi_arena_try_acquire(rungi_arena_pool *arenas)
{
    rungi_arena_set *set = atomic_load(&arenas->newest_set);
    rungi_arena *arena = try_acquire_free_arena(arenas, set);
    if (arena)
        return arena;
    return note_node(try_allocate_one_arena(arenas, set), arenas->nodes ? rungi_nodes_current(arenas->nodes) : 0);
}

/* A waiting thread first announces itself and then tries again. A releasing thread first frees the arena and then looks for
 * waiting threads. With sequentially consistent atomics one of the two sees the other. */
rungi_arena *rungi_arena_acquire(rungi_arena_pool *arenas)
{
    waiter_t self = {.is_woken = false};
    rungi_arena *arena = rungi_arena_try_acquire(arenas);
    if (arena)
        return arena;
    sem_init(&self.wake, 0, 0);
    pthread_mutex_lock(&arenas->lock);
    join_queue(arenas, &self);
    while (!self.arena && !(arena = try_acquire_free_arena(
                                arenas, atomic_load(&arenas->newest_set)))) { /* no allocation under the lock */
        pthread_mutex_unlock(&arenas->lock);
        rungi_semaphore_wait(&self.wake);
        pthread_mutex_lock(&arenas->lock);
        self.is_woken = false;
    }
    if (!self.arena) {
        leave_queue(arenas, &self);
        wake_waiter(arenas->first_waiter);
    }
    pthread_mutex_unlock(&arenas->lock);
    sem_destroy(&self.wake);
    return self.arena ? self.arena : arena;
}

/* Hands the arena over to the first waiting thread, at most once per millisecond and arena. Otherwise running threads could
 * acquire every free arena before a waiting thread wakes up. Always handing over would leave the arena idle until the thread
 * is awake. */
static bool try_hand_over(rungi_arena_pool *arenas, rungi_arena *arena)
{
    static const int64_t handover_interval_ns = 1000000;
    int64_t now = rungi_clock_ns();
    pthread_mutex_lock(&arenas->lock);
    waiter_t *first = arenas->first_waiter;
    bool is_handed_over = first && now - arena->handed_over_ns >= handover_interval_ns &&
                          arena->bytes == atomic_load(&arenas->newest_set)->bytes; /* an older arena may be too small */
    if (is_handed_over) {
        leave_queue(arenas, first);
        first->arena = arena;
        arena->handed_over_ns = now;
        wake_waiter(first);
    }
    pthread_mutex_unlock(&arenas->lock);
    return is_handed_over;
}

void rungi_arena_release(rungi_arena_pool *arenas, rungi_arena *arena)
{
    if (atomic_load(&arenas->waiting) > 0 && try_hand_over(arenas, arena))
        return;
    atomic_store(&arena->state, ARENA_FREE);
    wake_first_waiter(arenas);
}

void rungi_arena_pool_after_fork(rungi_arena_pool *arenas)
{
    for (rungi_arena_set *set = atomic_load(&arenas->newest_set); set; set = set->older)
        for (int64_t i = 0; i < set->count; i++)
            if (atomic_load(&set->arenas[i].state) == ARENA_IN_USE)
                atomic_store(&set->arenas[i].state, set->arenas[i].memory ? ARENA_FREE : ARENA_UNALLOCATED);
    atomic_store(&arenas->waiting, 0);
    pthread_mutex_init(&arenas->lock, NULL);
    arenas->first_waiter = NULL;
}
