/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - the CPU's threads. See docs/decisions/0020-threads.md.
 *
 * A caller who wants helpers opens a gate with so many seats, wakes as many workers and begins
 * with the parts itself. A worker that comes in time takes a seat, and parts one after the other
 * from a counter. When no part is left the caller shuts the gate and waits for those inside, never for
 * one that was not there in time: a worker that the system wakes late finds the gate shut, or
 * helps the next caller. One caller at a time has the gate; the others do not wait for it and
 * do their parts alone. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "core/cancel.h"
#include "cpu/pool.h"

#include <errno.h>
#include <fenv.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

#include "core/assert.h"
#include "cpu/arena.h"
#include "cpu/cpu.h"
#include "cpu/processors.h"

/* How long a thread looks for work, or for the end of it, before it sleeps: about what being
 * woken costs. */
static const int64_t spin_ns = 100000;

/* How long after threads could not be made it is tried again. */
static const int64_t retry_ns = 1000000000;

typedef struct worker {
    struct worker *next;
    rungi_pool *pool;
    pthread_t thread;
    sem_t call; /* there may be something to do */
} worker_t;

typedef struct job {
    rungi_pool_work *work;
    void *user;
    int64_t parts, scratch;
    fenv_t floating; /* the caller's rounding: parts are to have the same bits anywhere */
} job_t;

/* The gate: whether it is shut, seats left, and workers inside. */
static const uint64_t SHUT = (uint64_t)1 << 63, SEAT = (uint64_t)1 << 32, INSIDE = UINT32_MAX;

struct rungi_pool {
    rung_context *context;
    int64_t threads, processors;
    rungi_arenas arenas;
    _Atomic(worker_t *) workers; /* the newest first; none leaves while the pool lives */
    atomic_llong started, retry_at;
    atomic_bool is_ending;
    worker_t *lost;                  /* of the process that forked this one */
    sem_t left;                      /* the last inside has gone */
    job_t job;                       /* of whom the gate belongs to */
    alignas(64) atomic_bool is_busy; /* it belongs to a caller */
    alignas(64) _Atomic(uint64_t) gate;
    alignas(64) atomic_llong next; /* part */
};

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Looks for a while, then sleeps. */
static void wait_for(sem_t *event)
{
    enum { LOOKS = 32 }; /* between two looks at the clock */
    int64_t until = rungi_cpu_now() + spin_ns;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (sem_trywait(event) == 0)
                return;
            pause_a_little();
        }
    } while (rungi_cpu_now() < until);
    rungi_sleep_until(event);
}

/* ---- Parts ---------------------------------------------------------------------------------------- */

static void do_parts(rungi_pool *pool, const job_t *job, char *scratch)
{
    for (int64_t part; (part = atomic_fetch_add(&pool->next, 1)) < job->parts;)
        job->work(job->user, part, scratch);
}

static bool enter(rungi_pool *pool)
{
    uint64_t gate = atomic_load(&pool->gate);
    while (!(gate & SHUT) && gate >= SEAT)
        if (atomic_compare_exchange_weak(&pool->gate, &gate, gate - SEAT + 1))
            return true;
    return false;
}

static void leave(rungi_pool *pool)
{
    uint64_t gate = atomic_fetch_sub(&pool->gate, 1);
    RUNGI_ASSERT((gate & INSIDE) > 0);
    if ((gate & SHUT) && (gate & INSIDE) == 1)
        sem_post(&pool->left);
}

/* A worker does not wait for an arena: callers have them all then, and as many threads compute
 * as there are processors. */
static void help(rungi_pool *pool)
{
    const job_t *job = &pool->job;
    rungi_arena *arena = job->scratch > 0 ? rungi_arena_try(&pool->arenas) : NULL;
    if (job->scratch > 0 && !arena)
        return;
    fesetenv(&job->floating);
    do_parts(pool, job, arena ? arena->memory : NULL);
    if (arena)
        rungi_arena_give(&pool->arenas, arena);
}

static void *worker_main(void *user)
{
    worker_t *self = user;
    rungi_pool *pool = self->pool;
    pthread_setname_np(pthread_self(), "rung");
    for (;;) {
        wait_for(&self->call);
        if (atomic_load(&pool->is_ending))
            return NULL;
        if (enter(pool)) {
            help(pool);
            leave(pool);
        }
    }
}

/* ---- Workers -------------------------------------------------------------------------------------- */

/* The process's signals are for its own threads; what an instruction raises comes to whoever
 * runs it. */
static int make_thread(worker_t *made)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(&made->thread, NULL, worker_main, made);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* 0, or the error. */
static int start_one(rungi_pool *pool)
{
    worker_t *made = rungi_new(pool->context, sizeof *made);
    if (!made)
        return ENOMEM;
    made->pool = pool;
    int error = sem_init(&made->call, 0, 0) == 0 ? make_thread(made) : errno;
    if (error != 0) {
        rungi_release(pool->context, made);
        return error;
    }
    made->next = atomic_load(&pool->workers);
    while (!atomic_compare_exchange_weak(&pool->workers, &made->next, made))
        continue;
    return 0;
}

/* As many workers as are wanted and can be made; too few is no failure. */
static void start(rungi_pool *pool, int64_t wanted)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_error before;
    int error = 0;
    if (rungi_cpu_now() < atomic_load(&pool->retry_at))
        return;
    rungi_error_save(&before);
    long long started = atomic_load(&pool->started);
    while (error == 0 && started < wanted)
        if (atomic_compare_exchange_weak(&pool->started, &started, started + 1))
            error = start_one(pool);
    if (error != 0) {
        atomic_fetch_sub(&pool->started, 1);
        atomic_store(&pool->retry_at, rungi_cpu_now() + retry_ns);
        rungi_log(pool->context, 1,
                  "rung: cpu: only %lld of %lld threads could be created (%s); the work runs on fewer",
                  (long long)atomic_load(&pool->started) + 1, (long long)wanted + 1, strerror(error));
        rungi_error_restore(&before);
    }
}

rung_status rungi_pool_reserve(rungi_pool *pool, int64_t threads, int64_t scratch)
{
    rung_status status = scratch > 0 ? rungi_arenas_reserve(&pool->arenas, threads, scratch) : RUNG_OK;
    if (status == RUNG_OK && threads - 1 > atomic_load(&pool->started))
        start(pool, threads - 1);
    return status;
}

/* ---- Running -------------------------------------------------------------------------------------- */

static void run_alone(int64_t parts, rungi_pool_work *work, void *user, char *scratch)
{
    for (int64_t part = 0; part < parts; part++)
        work(user, part, scratch);
}

/* With the gate. */
static void run_helped(rungi_pool *pool, int64_t helpers, char *scratch)
{
    RUNGI_ASSERT(atomic_load(&pool->is_busy) && (atomic_load(&pool->gate) & INSIDE) == 0);
    RUNGI_ASSERT(helpers > 0 && helpers < RUNGI_THREADS_MAX);
    atomic_store(&pool->next, 0);
    atomic_store(&pool->gate, (uint64_t)helpers * SEAT);
    worker_t *helper = atomic_load(&pool->workers);
    for (int64_t i = 0; i < helpers && helper; i++, helper = helper->next)
        sem_post(&helper->call);
    do_parts(pool, &pool->job, scratch);
    if (atomic_fetch_or(&pool->gate, SHUT) & INSIDE)
        wait_for(&pool->left);
}

static bool take_gate(rungi_pool *pool)
{
    return !atomic_load(&pool->is_busy) && !atomic_exchange(&pool->is_busy, true);
}

void rungi_pool_run(rungi_pool *pool, int64_t threads, int64_t scratch, int64_t parts, rungi_pool_work *work,
                    void *user)
{
    RUNGI_ASSERT(threads > 0 && parts >= 0 && scratch >= 0);
    int64_t helpers = (threads < parts ? threads : parts) - 1;
    if (helpers > atomic_load(&pool->started))
        start(pool, helpers);
    rungi_arena *arena = scratch > 0 ? rungi_arena_take(&pool->arenas) : NULL;
    char *memory = arena ? arena->memory : NULL;
    if (helpers > 0 && take_gate(pool)) {
        pool->job = (job_t){.work = work, .user = user, .parts = parts, .scratch = scratch};
        fegetenv(&pool->job.floating);
        run_helped(pool, helpers, memory);
        atomic_store(&pool->is_busy, false);
    } else {
        run_alone(parts, work, user, memory);
    }
    if (arena)
        rungi_arena_give(&pool->arenas, arena);
}

/* ---- The pool ------------------------------------------------------------------------------------- */

rung_status rungi_pool_create(rung_context *context, rungi_pool **pool)
{
    rungi_pool *made = rungi_allocate(context, sizeof *made, alignof(rungi_pool));
    *pool = made;
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    memset(made, 0, sizeof *made);
    made->context = context;
    made->processors = rungi_processors_count();
    made->threads = context->threads > 0                   ? context->threads
                    : made->processors < RUNGI_THREADS_MAX ? made->processors
                                                           : RUNGI_THREADS_MAX;
    rungi_arenas_init(&made->arenas, context);
    made->arenas.most = made->processors;
    sem_init(&made->left, 0, 0);
    atomic_init(&made->gate, SHUT);
    return RUNG_OK;
}

static void free_workers(rung_context *context, worker_t *first, bool are_here)
{
    while (first) {
        worker_t *next = first->next;
        if (are_here) {
            pthread_join(first->thread, NULL);
            sem_destroy(&first->call);
        }
        rungi_release(context, first);
        first = next;
    }
}

void rungi_pool_destroy(rungi_pool *pool)
{
    if (!pool)
        return;
    RUNGI_ASSERT(!atomic_load(&pool->is_busy));
    atomic_store(&pool->is_ending, true);
    for (worker_t *one = atomic_load(&pool->workers); one; one = one->next)
        sem_post(&one->call);
    free_workers(pool->context, atomic_load(&pool->workers), true);
    free_workers(pool->context, pool->lost, false);
    rungi_arenas_free(&pool->arenas);
    sem_destroy(&pool->left);
    rungi_release(pool->context, pool);
}

int64_t rungi_pool_threads(const rungi_pool *pool)
{
    return pool->threads;
}

int64_t rungi_pool_processors(const rungi_pool *pool)
{
    return pool->processors;
}

/* Whatever was going on was other threads'. New workers come with the next work. */
void rungi_pool_forked(rungi_pool *pool)
{
    worker_t **end = &pool->lost;
    while (*end)
        end = &(*end)->next;
    *end = atomic_load(&pool->workers);
    atomic_store(&pool->workers, NULL);
    atomic_store(&pool->started, 0);
    atomic_store(&pool->retry_at, 0);
    atomic_store(&pool->gate, SHUT);
    atomic_store(&pool->is_busy, false);
    sem_init(&pool->left, 0, 0);
    rungi_arenas_forked(&pool->arenas);
}
