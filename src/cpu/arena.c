/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - memory that threads work in: packed panels and the like, some megabytes a thread,
 * which take longer to get from the system than a small multiply takes.
 *
 * There are at most as many arenas as threads may usefully compute, and whoever finds all in use waits
 * for one: so two hundred threads that multiply at once need no more memory than two. Nobody
 * waits in a circle: one who has an arena never asks for a second, nor waits for one who does.
 *
 * A plan reserves memory for the threads that it uses. The other arenas of a shelf get theirs when more
 * threads compute at the same time than any plan has reserved.
 *
 * Where larger ones are asked for, a new shelf of them is put before the old one. Old arenas
 * that nobody has are given back then, the others when the next shelf comes, or with the device. A
 * shelf itself stays, empty: a thread may just be looking through it. */
#define _GNU_SOURCE /* madvise */
#include "cpu/arena.h"

#include <semaphore.h>
#include <sys/mman.h>

#include "core/cancel.h"
#include "cpu/cpu.h"

enum { IS_EMPTY, IS_FREE, IS_TAKEN, IS_GONE }; /* empty: without memory yet */

enum { SMALL_PAGE = 4096, LARGE_PAGE = 2 << 20 };

void rungi_arenas_init(rungi_arenas *arenas, rung_context *context)
{
    arenas->context = context;
    arenas->most = 1;
    atomic_init(&arenas->shelf, NULL);
    atomic_init(&arenas->waiting, 0);
    pthread_mutex_init(&arenas->lock, NULL);
    arenas->first = NULL;
}

/* ---- Waiting -------------------------------------------------------------------------------------- */

void rungi_sleep_until(sem_t *event)
{
    RUNGI_DISABLE_CANCELLATION;
    while (sem_wait(event) != 0) /* a signal came in between */
        continue;
}

/* Lies on the stack of the thread that waits. */
typedef struct waiter {
    struct waiter *next;
    rungi_arena *arena; /* handed over to it */
    sem_t call;         /* look again */
    bool is_called;
} waiter_t;

/* Under the lock. One who gets an arena calls the next, since several may be free. */
static void call(waiter_t *waiter)
{
    if (waiter && !waiter->is_called) {
        waiter->is_called = true;
        sem_post(&waiter->call);
    }
}

static void call_first(rungi_arenas *arenas)
{
    if (atomic_load(&arenas->waiting) == 0)
        return;
    pthread_mutex_lock(&arenas->lock);
    call(arenas->first);
    pthread_mutex_unlock(&arenas->lock);
}

/* Under the lock. */
static void join_queue(rungi_arenas *arenas, waiter_t *self)
{
    waiter_t **end = &arenas->first;
    while (*end)
        end = &(*end)->next;
    *end = self;
    atomic_fetch_add(&arenas->waiting, 1);
}

/* Under the lock. */
static void leave_queue(rungi_arenas *arenas, waiter_t *self)
{
    waiter_t **link = &arenas->first;
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
    atomic_fetch_sub(&arenas->waiting, 1);
}

/* ---- Making --------------------------------------------------------------------------------------- */

/* Few sizes, so that sizes that grow little by little do not make a shelf each; from some on whole large pages, in
 * which a packed block misses the TLB less. */
static int64_t rounded_up(int64_t bytes)
{
    int64_t size = SMALL_PAGE;
    while (size < bytes && size < LARGE_PAGE / 8)
        size *= 2;
    return size < bytes ? (bytes - 1) / LARGE_PAGE * LARGE_PAGE + LARGE_PAGE : size;
}

static char *new_memory(rung_context *context, int64_t bytes)
{
    char *memory = rungi_allocate(context, bytes, bytes < LARGE_PAGE ? SMALL_PAGE : LARGE_PAGE);
    if (memory && bytes >= LARGE_PAGE)
        madvise(memory, (size_t)bytes, MADV_HUGEPAGE); /* fewer misses of the TLB; as it likes */
    return memory;
}

/* Gives back the memory of those that nobody has. */
static void empty_shelf(rung_context *context, rungi_shelf *shelf)
{
    for (int64_t i = 0; i < shelf->count; i++) {
        int was = IS_FREE;
        if (atomic_compare_exchange_strong(&shelf->arenas[i].state, &was, IS_GONE))
            rungi_release(context, shelf->arenas[i].memory);
    }
}

/* Takes an arena that has no memory yet, and allocates it. NULL if all have memory, or there is no more. */
static rungi_arena *take_empty(rung_context *context, rungi_shelf *shelf)
{
    RUNGI_DISABLE_CANCELLATION;
    for (int64_t i = 0; i < shelf->count; i++) {
        rungi_arena *arena = &shelf->arenas[i];
        int was = IS_EMPTY;
        if (atomic_load(&arena->state) != IS_EMPTY || !atomic_compare_exchange_strong(&arena->state, &was, IS_TAKEN))
            continue;
        arena->memory = new_memory(context, shelf->bytes);
        if (arena->memory)
            return arena;
        atomic_store(&arena->state, IS_EMPTY);
        return NULL;
    }
    return NULL;
}

static int64_t count_filled(const rungi_shelf *shelf)
{
    int64_t filled = 0;
    for (int64_t i = 0; shelf && i < shelf->count; i++)
        filled += atomic_load(&shelf->arenas[i].state) != IS_EMPTY;
    return filled;
}

/* Allocates memory until `count` arenas of the shelf have it. */
static rung_status fill(rung_context *context, rungi_shelf *shelf, int64_t count)
{
    while (count_filled(shelf) < count) {
        rungi_arena *arena = take_empty(context, shelf);
        if (arena)
            atomic_store(&arena->state, IS_FREE);
        else if (count_filled(shelf) < count)
            return RUNG_STATUS_NO_MEMORY;
    }
    return RUNG_OK;
}

static rungi_shelf *new_shelf(rung_context *context, int64_t count, int64_t bytes)
{
    int64_t size = (int64_t)sizeof(rungi_shelf) + count * (int64_t)sizeof(rungi_arena);
    rungi_shelf *shelf = rungi_allocate(context, size, alignof(rungi_shelf));
    if (!shelf)
        return NULL;
    shelf->bytes = bytes;
    for (shelf->count = 0; shelf->count < count; shelf->count++) {
        rungi_arena *arena = &shelf->arenas[shelf->count];
        atomic_init(&arena->state, IS_EMPTY);
        arena->bytes = bytes;
        arena->handed_over = 0;
        arena->memory = NULL;
    }
    return shelf;
}

static void free_shelf(rung_context *context, rungi_shelf *shelf)
{
    empty_shelf(context, shelf);
    rungi_release(context, shelf);
}

static bool is_enough(const rungi_shelf *shelf, int64_t count, int64_t bytes)
{
    return shelf && shelf->count >= count && shelf->bytes >= bytes;
}

/* As many arenas with memory as the shelf before had, for plans that were created earlier. A failure is not reported: their
 * runs allocate what is missing, or wait for another arena. */
static void refill(rung_context *context, rungi_shelf *shelf, int64_t count)
{
    rungi_error before;
    rungi_error_save(&before);
    fill(context, shelf, count);
    rungi_error_restore(&before);
}

/* Puts up a shelf that is no smaller in any way than the one before it, `count` arenas or more of it with memory,
 * unless somebody else has put up one meanwhile. */
static rung_status put_up(rungi_arenas *arenas, rungi_shelf *before, int64_t count, int64_t bytes)
{
    int64_t places = count > arenas->most ? count : arenas->most, filled = count_filled(before);
    if (before && before->count > places)
        places = before->count;
    if (before && before->bytes > bytes)
        bytes = before->bytes;
    rungi_shelf *made = new_shelf(arenas->context, places, rounded_up(bytes));
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    if (fill(arenas->context, made, count) != RUNG_OK) {
        free_shelf(arenas->context, made);
        return RUNG_STATUS_NO_MEMORY;
    }
    refill(arenas->context, made, filled);
    made->older = before;
    if (!atomic_compare_exchange_strong(&arenas->shelf, &before, made)) {
        free_shelf(arenas->context, made);
        return RUNG_OK;
    }
    call_first(arenas);
    for (rungi_shelf *older = made->older; older; older = older->older)
        empty_shelf(arenas->context, older);
    return RUNG_OK;
}

rung_status rungi_arenas_reserve(rungi_arenas *arenas, int64_t count, int64_t bytes)
{
    rung_status status = RUNG_OK;
    bool is_done = false;
    while (status == RUNG_OK && !is_done) {
        rungi_shelf *shelf = atomic_load(&arenas->shelf);
        if (!is_enough(shelf, count, bytes)) {
            status = put_up(arenas, shelf, count, bytes);
            continue;
        }
        status = fill(arenas->context, shelf, count);
        is_done = atomic_load(&arenas->shelf) == shelf; /* else a new one may have fewer with memory */
    }
    if (status == RUNG_OK)
        call_first(arenas);
    return status;
}

void rungi_arenas_free(rungi_arenas *arenas)
{
    rungi_shelf *shelf = atomic_load(&arenas->shelf);
    while (shelf) {
        rungi_shelf *older = shelf->older;
        free_shelf(arenas->context, shelf);
        shelf = older;
    }
    pthread_mutex_destroy(&arenas->lock);
}

/* ---- Using ---------------------------------------------------------------------------------------- */

/* Where this thread found one last: it is likely free again, and in this processor's cache. */
static _Thread_local int64_t last_found;

/* Tries to allocate. A failure is not reported: the caller waits for another arena. Not inlined: this is rare, and needs
 * much stack. */
static __attribute__((noinline)) rungi_arena *try_empty(rungi_arenas *arenas, rungi_shelf *shelf)
{
    rungi_error before;
    rungi_error_save(&before);
    rungi_arena *arena = take_empty(arenas->context, shelf);
    rungi_error_restore(&before);
    return arena;
}

static rungi_arena *try_free(rungi_shelf *shelf)
{
    int64_t place = last_found < shelf->count ? last_found : 0;
    for (int64_t i = 0; i < shelf->count; i++) {
        rungi_arena *arena = &shelf->arenas[place];
        int was = IS_FREE;
        if (atomic_load(&arena->state) == IS_FREE && atomic_compare_exchange_strong(&arena->state, &was, IS_TAKEN)) {
            last_found = place;
            return arena;
        }
        place = place + 1 < shelf->count ? place + 1 : 0;
    }
    return NULL;
}

rungi_arena *rungi_arena_try(rungi_arenas *arenas)
{
    rungi_shelf *shelf = atomic_load(&arenas->shelf);
    rungi_arena *arena = try_free(shelf);
    return arena ? arena : try_empty(arenas, shelf);
}

/* Whoever waits says so and looks once more; whoever gives back does so and looks whether
 * anybody waits. In the one order of all that is done with these variables, one of the two sees
 * the other. */
rungi_arena *rungi_arena_take(rungi_arenas *arenas)
{
    waiter_t self = {.is_called = false};
    rungi_arena *arena = rungi_arena_try(arenas);
    if (arena)
        return arena;
    sem_init(&self.call, 0, 0);
    pthread_mutex_lock(&arenas->lock);
    join_queue(arenas, &self);
    while (!self.arena && !(arena = try_free(atomic_load(&arenas->shelf)))) { /* allocates nothing under the lock */
        pthread_mutex_unlock(&arenas->lock);
        rungi_sleep_until(&self.call);
        pthread_mutex_lock(&arenas->lock);
        self.is_called = false;
    }
    if (!self.arena) {
        leave_queue(arenas, &self);
        call(arenas->first);
    }
    pthread_mutex_unlock(&arenas->lock);
    sem_destroy(&self.call);
    return self.arena ? self.arena : arena;
}

/* Whether an arena was handed over to the first who waits. Others may be quicker than one who
 * has to be woken, again and again; so from time to time an arena is not let go of before. Not
 * always: then it would lie idle after each piece of work until a thread is awake. */
static bool hand_over(rungi_arenas *arenas, rungi_arena *arena)
{
    static const int64_t often_ns = 1000000;
    int64_t now = rungi_cpu_now();
    pthread_mutex_lock(&arenas->lock);
    waiter_t *first = arenas->first;
    bool is_due = first && now - arena->handed_over >= often_ns &&
                  arena->bytes == atomic_load(&arenas->shelf)->bytes; /* an old one may be too small */
    if (is_due) {
        leave_queue(arenas, first);
        first->arena = arena;
        arena->handed_over = now;
        call(first);
    }
    pthread_mutex_unlock(&arenas->lock);
    return is_due;
}

void rungi_arena_give(rungi_arenas *arenas, rungi_arena *arena)
{
    if (atomic_load(&arenas->waiting) > 0 && hand_over(arenas, arena))
        return;
    atomic_store(&arena->state, IS_FREE);
    call_first(arenas);
}

void rungi_arenas_forked(rungi_arenas *arenas)
{
    for (rungi_shelf *shelf = atomic_load(&arenas->shelf); shelf; shelf = shelf->older)
        for (int64_t i = 0; i < shelf->count; i++)
            if (atomic_load(&shelf->arenas[i].state) == IS_TAKEN)
                atomic_store(&shelf->arenas[i].state, shelf->arenas[i].memory ? IS_FREE : IS_EMPTY);
    atomic_store(&arenas->waiting, 0);
    pthread_mutex_init(&arenas->lock, NULL);
    arenas->first = NULL;
}
