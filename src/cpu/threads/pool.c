/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - worker threads. See docs/internals/decisions/0020-cpu-threads.md.
 *
 * A caller opens the job for a number of workers, wakes as many and starts with the parts itself. A worker that wakes in
 * time takes a slot, then one part after the other from a counter. When no part is left, the caller closes admission and
 * waits for the active workers only: a worker that wakes late finds admission closed, or joins the next job. One caller at
 * a time owns the workers. The others do not wait and compute their parts alone. The more callers there are, the fewer
 * workers the owner wakes.
 *
 * With the caller's parallel_for (docs/internals/decisions/0062-callers-thread-pool.md) there are no workers. Each of its
 * parts takes parts of the job from a counter, so that the order in which the caller's threads run does not matter. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "base/cancellation.h"
#include "cpu/threads/pool.h"

#include <errno.h>
#include <fenv.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/clock.h"
#include "base/try.h"
#include "cpu/threads/arena.h"

/* How long a thread spins for work, or for the end of a job, before it sleeps: about the cost of a wake-up. */
static const int64_t spin_ns = 100000;

/* How long to wait after a failed thread creation before the next attempt. */
static const int64_t retry_ns = 1000000000;

typedef struct worker {
    struct worker *next;
    rungi_pool *pool;
    pthread_t thread;
    sem_t wake; /* there may be a job */
} worker_t;

typedef struct pool_job {
    rungi_pool_work *work;
    void *user;
    int64_t parts, scratch;
    fenv_t fp_environment; /* the caller's rounding mode: results must not depend on the thread */
} pool_job_t;

/* The next part of each range: one range of adjacent parts per NUMA node, each on its own cache line. */
typedef struct part_ranges {
    int count;
    struct {
        alignas(64) atomic_llong next;
    } range[RUNGI_NODES_MAX];
} part_ranges_t;

/* Bits of `admission`: closed, free slots (upper half) and active workers (lower half). */
static const uint64_t ADMISSION_CLOSED = (uint64_t)1 << 63, ADMISSION_SLOT = (uint64_t)1 << 32,
                      ACTIVE_WORKERS_MASK = UINT32_MAX;

struct rungi_pool {
    rung_context *context;
    int64_t threads, processors;
    rungi_arena_pool arenas;
    _Atomic(worker_t *) workers; /* newest first; workers stay until the pool is destroyed */
    atomic_llong started, retry_at;
    atomic_bool is_stopping;
    worker_t *parent_workers;          /* records of the process that forked this one */
    sem_t all_left;                    /* the last active worker has left */
    pool_job_t job;                    /* of the caller that owns the workers */
    alignas(64) atomic_bool has_owner; /* a caller owns the workers */
    atomic_llong callers;              /* that run jobs of several threads now */
    alignas(64) _Atomic(uint64_t) admission;
    part_ranges_t ranges; /* of `job` */
    rungi_nodes nodes;
};

static void spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins for a while, then sleeps. */
static void spin_then_wait(sem_t *event)
{
    enum { SPINS_PER_CLOCK_READ = 32 };
    int64_t until = rungi_clock_ns() + spin_ns;
    do {
        for (int i = 0; i < SPINS_PER_CLOCK_READ; i++) {
            if (sem_trywait(event) == 0)
                return;
            spin_pause();
        }
    } while (rungi_clock_ns() < until);
    rungi_semaphore_wait(event);
}

/* ---- Parts ---------------------------------------------------------------------------------------- */

static int64_t range_begin(const part_ranges_t *ranges, int64_t parts, int range)
{
    return parts / ranges->count * range + rungi_min(parts % ranges->count, range);
}

static void reset_ranges(part_ranges_t *ranges, const rungi_nodes *nodes, int64_t parts)
{
    ranges->count = nodes->count;
    for (int i = 0; i < ranges->count; i++)
        atomic_store(&ranges->range[i].next, range_begin(ranges, parts, i));
}

/* Returns whether a part has not been started. */
static bool has_available_parts(part_ranges_t *ranges, int64_t parts)
{
    bool has_parts = false;
    for (int i = 0; i < ranges->count; i++)
        has_parts = has_parts || atomic_load(&ranges->range[i].next) < range_begin(ranges, parts, i + 1);
    return has_parts;
}

/* Computes the parts of this thread's node, then those that are left of other nodes. */
static void run_available_parts(const pool_job_t *job, part_ranges_t *ranges, int node, char *scratch)
{
    for (int i = 0; i < ranges->count; i++) {
        int range = (node + i) % ranges->count;
        int64_t end = range_begin(ranges, job->parts, range + 1);
        for (int64_t part; (part = atomic_fetch_add(&ranges->range[range].next, 1)) < end;)
            job->work(job->user, part, scratch);
    }
}

static bool try_join(rungi_pool *pool)
{
    uint64_t admission = atomic_load(&pool->admission);
    while (!(admission & ADMISSION_CLOSED) && admission >= ADMISSION_SLOT)
        if (atomic_compare_exchange_weak(&pool->admission, &admission, admission - ADMISSION_SLOT + 1))
            return true;
    return false;
}

static void leave_job(rungi_pool *pool)
{
    uint64_t admission = atomic_fetch_sub(&pool->admission, 1);
    RUNGI_ASSERT((admission & ACTIVE_WORKERS_MASK) > 0);
    if ((admission & ADMISSION_CLOSED) && (admission & ACTIVE_WORKERS_MASK) == 1)
        sem_post(&pool->all_left);
}

/* Computes parts on a worker. A worker does not wait for an arena: if callers hold all of them, as many threads compute as
 * there are processors. */
static void run_job(rungi_pool *pool)
{
    const pool_job_t *job = &pool->job;
    rungi_arena *arena = job->scratch > 0 ? rungi_arena_try_acquire(&pool->arenas) : NULL;
    if (job->scratch > 0 && !arena)
        return;
    fesetenv(&job->fp_environment);
    run_available_parts(job, &pool->ranges, rungi_nodes_current(&pool->nodes), arena ? arena->memory : NULL);
    if (arena)
        rungi_arena_release(&pool->arenas, arena);
}

static void *worker_main(void *user)
{
    worker_t *self = user;
    rungi_pool *pool = self->pool;
    pthread_setname_np(pthread_self(), "rung");
    for (;;) {
        spin_then_wait(&self->wake);
        if (atomic_load(&pool->is_stopping))
            return NULL;
        if (try_join(pool)) {
            run_job(pool);
            leave_job(pool);
        }
    }
}

/* ---- Workers -------------------------------------------------------------------------------------- */

/* Creates a thread with all signals blocked except those that an instruction of the thread itself raises: other signals are
 * for the threads of the application. */
static int create_thread(worker_t *created)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(&created->thread, NULL, worker_main, created);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Returns 0 or an errno value. */
static int start_pool_worker(rungi_pool *pool)
{
    worker_t *created = rungi_allocate_zeroed(pool->context, sizeof *created);
    if (!created)
        return ENOMEM;
    created->pool = pool;
    int error = sem_init(&created->wake, 0, 0) == 0 ? create_thread(created) : errno;
    if (error != 0) {
        rungi_release(pool->context, created);
        return error;
    }
    created->next = atomic_load(&pool->workers);
    while (!atomic_compare_exchange_weak(&pool->workers, &created->next, created))
        continue;
    return 0;
}

/* Starts workers until there are `target`. Too few is not an error. */
static void start_workers(rungi_pool *pool, int64_t target)
{
    RUNGI_DISABLE_CANCELLATION;
    int error = 0;
    if (rungi_clock_ns() < atomic_load(&pool->retry_at))
        return;
    rungi_saved_error before = rungi_error_save();
    long long started = atomic_load(&pool->started);
    while (error == 0 && started < target)
        if (atomic_compare_exchange_weak(&pool->started, &started, started + 1))
            error = start_pool_worker(pool);
    if (error != 0) {
        atomic_fetch_sub(&pool->started, 1);
        atomic_store(&pool->retry_at, rungi_clock_ns() + retry_ns);
        rungi_log(pool->context, 1,
                  "rung: cpu: only %lld of %lld threads could be created (%s); continuing with fewer threads",
                  (long long)atomic_load(&pool->started) + 1, (long long)target + 1, strerror(error));
        rungi_error_restore(&before);
    }
}

rung_status rungi_pool_reserve(rungi_pool *pool, int64_t threads, int64_t scratch)
{
    if (scratch > 0)
        TRY(rungi_arena_pool_reserve(&pool->arenas, threads, scratch));
    if (!pool->context->parallel_for && threads - 1 > atomic_load(&pool->started))
        start_workers(pool, threads - 1);
    return RUNG_OK;
}

/* ---- The caller's threads --------------------------------------------------------------------------- */

/* A job on the caller's threads. Lives on the stack of the thread that runs it. */
typedef struct shared_job {
    rungi_pool *pool;
    pool_job_t job;
    part_ranges_t ranges;
} shared_job_t;

/* Whether this thread computes a part that the caller's parallel_for started. A job inside the part runs on this thread: a
 * pool that waits for its own threads would wait forever. */
static _Thread_local bool is_in_shared_job;

/* Computes parts on a thread of the caller's. Like a worker, it does not wait for an arena. */
static void run_shared_job(void *user, int64_t index)
{
    shared_job_t *shared = user;
    rungi_arena_pool *arenas = &shared->pool->arenas;
    rungi_arena *arena = shared->job.scratch > 0 ? rungi_arena_try_acquire(arenas) : NULL;
    fenv_t before;
    (void)index;
    if (shared->job.scratch > 0 && !arena)
        return;
    fegetenv(&before);
    fesetenv(&shared->job.fp_environment);
    is_in_shared_job = true;
    run_available_parts(&shared->job, &shared->ranges, rungi_nodes_current(&shared->pool->nodes),
                        arena ? arena->memory : NULL);
    is_in_shared_job = false;
    fesetenv(&before);
    if (arena)
        rungi_arena_release(arenas, arena);
}

/* Runs a job on the caller's threads. This thread has no arena meanwhile, because parallel_for may compute on it. At the end
 * it computes what is left, if all arenas were in use. */
static void run_on_callers_threads(rungi_pool *pool, int64_t threads, pool_job_t job)
{
    RUNGI_DISABLE_CANCELLATION; /* of a thread that waits in the caller's function */
    shared_job_t shared;
    shared.pool = pool;
    shared.job = job;
    reset_ranges(&shared.ranges, &pool->nodes, job.parts);
    fegetenv(&shared.job.fp_environment);
    pool->context->parallel_for(pool->context->parallel_for_user, threads, run_shared_job, &shared);
    if (!has_available_parts(&shared.ranges, job.parts))
        return;
    rungi_arena *arena = job.scratch > 0 ? rungi_arena_acquire(&pool->arenas) : NULL;
    run_available_parts(&job, &shared.ranges, rungi_nodes_current(&pool->nodes), arena ? arena->memory : NULL);
    if (arena)
        rungi_arena_release(&pool->arenas, arena);
}

/* ---- Running -------------------------------------------------------------------------------------- */

/* Runs pool->job with up to `helpers` workers. Requires ownership of the workers. */
static void run_with_workers(rungi_pool *pool, int64_t helpers, char *scratch)
{
    RUNGI_ASSERT(atomic_load(&pool->has_owner) && (atomic_load(&pool->admission) & ACTIVE_WORKERS_MASK) == 0);
    RUNGI_ASSERT(helpers > 0 && helpers < RUNGI_THREADS_MAX);
    reset_ranges(&pool->ranges, &pool->nodes, pool->job.parts);
    atomic_store(&pool->admission, (uint64_t)helpers * ADMISSION_SLOT);
    worker_t *helper = atomic_load(&pool->workers);
    for (int64_t i = 0; i < helpers && helper; i++, helper = helper->next)
        sem_post(&helper->wake);
    run_available_parts(&pool->job, &pool->ranges, rungi_nodes_current(&pool->nodes), scratch);
    if (atomic_fetch_or(&pool->admission, ADMISSION_CLOSED) & ACTIVE_WORKERS_MASK)
        spin_then_wait(&pool->all_left);
}

/* Returns how many workers a job may have. The callers of other jobs compute, too: together with the workers there are at
 * most as many threads as processors, or as the job requests. */
static int64_t limit_helpers(const rungi_pool *pool, int64_t helpers, int64_t callers)
{
    return rungi_max(0, rungi_min(helpers, rungi_max(pool->processors, helpers + 1) - callers));
}

void rungi_pool_run(rungi_pool *pool, int64_t threads, int64_t scratch, int64_t parts, rungi_pool_work *work,
                    void *user)
{
    RUNGI_ASSERT(threads > 0 && parts >= 0 && scratch >= 0);
    int64_t helpers = (threads < parts ? threads : parts) - 1;
    if (helpers > 0 && pool->context->parallel_for) {
        if (!is_in_shared_job) {
            run_on_callers_threads(pool, helpers + 1,
                                   (pool_job_t){.work = work, .user = user, .parts = parts, .scratch = scratch});
            return;
        }
        helpers = 0;
    }
    bool has_several_threads = helpers > 0;
    if (has_several_threads)
        helpers = limit_helpers(pool, helpers, atomic_fetch_add(&pool->callers, 1) + 1);
    if (helpers > atomic_load(&pool->started))
        start_workers(pool, helpers);
    rungi_arena *arena = scratch > 0 ? rungi_arena_acquire(&pool->arenas) : NULL;
    char *memory = arena ? arena->memory : NULL;
    if (helpers > 0 && !atomic_load(&pool->has_owner) && !atomic_exchange(&pool->has_owner, true)) {
        pool->job = (pool_job_t){.work = work, .user = user, .parts = parts, .scratch = scratch};
        fegetenv(&pool->job.fp_environment);
        run_with_workers(pool, helpers, memory);
        atomic_store(&pool->has_owner, false);
    } else {
        for (int64_t part = 0; part < parts; part++)
            work(user, part, memory);
    }
    if (arena)
        rungi_arena_release(&pool->arenas, arena);
    if (has_several_threads)
        atomic_fetch_sub(&pool->callers, 1);
}

/* ---- Create and destroy ------------------------------------------------------------------------------------- */

rung_status rungi_pool_create(rung_context *context, rungi_pool **pool)
{
    rungi_pool *created = rungi_allocate(context, sizeof *created, alignof(rungi_pool));
    *pool = created;
    if (!created)
        return RUNG_STATUS_NO_MEMORY;
    memset(created, 0, sizeof *created);
    created->context = context;
    created->processors = rungi_processors_count();
    created->threads = context->threads > 0 ? context->threads : rungi_min(created->processors, RUNGI_THREADS_MAX);
    rungi_arena_pool_init(&created->arenas, context);
    created->arenas.max_arenas = created->processors;
    created->arenas.nodes = &created->nodes;
    rungi_nodes_read("", &created->nodes);
    sem_init(&created->all_left, 0, 0);
    atomic_init(&created->admission, ADMISSION_CLOSED);
    return RUNG_OK;
}

static void free_workers(rung_context *context, worker_t *first, bool can_join)
{
    while (first) {
        worker_t *next = first->next;
        if (can_join) {
            pthread_join(first->thread, NULL);
            sem_destroy(&first->wake);
        }
        rungi_release(context, first);
        first = next;
    }
}

void rungi_pool_destroy(rungi_pool *pool)
{
    if (!pool)
        return;
    RUNGI_ASSERT(!atomic_load(&pool->has_owner));
    atomic_store(&pool->is_stopping, true);
    for (worker_t *one = atomic_load(&pool->workers); one; one = one->next)
        sem_post(&one->wake);
    free_workers(pool->context, atomic_load(&pool->workers), true);
    free_workers(pool->context, pool->parent_workers, false);
    rungi_arena_pool_free(&pool->arenas);
    sem_destroy(&pool->all_left);
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

rungi_nodes *rungi_pool_nodes(rungi_pool *pool)
{
    return &pool->nodes;
}

/* Forgets jobs and workers of the parent process. New workers are started with the next job. */
void rungi_pool_after_fork(rungi_pool *pool)
{
    worker_t **end = &pool->parent_workers;
    while (*end)
        end = &(*end)->next;
    *end = atomic_load(&pool->workers);
    atomic_store(&pool->workers, NULL);
    atomic_store(&pool->started, 0);
    atomic_store(&pool->retry_at, 0);
    atomic_store(&pool->admission, ADMISSION_CLOSED);
    atomic_store(&pool->has_owner, false);
    atomic_store(&pool->callers, 0);
    sem_init(&pool->all_left, 0, 0);
    rungi_arena_pool_after_fork(&pool->arenas);
}
