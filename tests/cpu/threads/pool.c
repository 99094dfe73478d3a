/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - the CPU's threads and their memory, by themselves: every part is done once, by no more
 * threads than were asked for; nobody waits for workers that another caller has; memory is one
 * thread's at a time, and bounded; and what cannot be made is done without. */
#define _GNU_SOURCE /* gettid's number, by syscall */
#include "support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpu/threads/arena.h"
#include "cpu/threads/pool.h"

/* ---- Making threads that fail when told ------------------------------------------- */

static atomic_int threads_left = INT32_MAX; /* that can still be made */

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* The linker puts this in pthread_create's place. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *user)
{
    if (atomic_fetch_sub(&threads_left, 1) <= 0)
        return EAGAIN;
    return __real_pthread_create(thread, attributes, function, user);
}

/* ---- Memory that is counted, and fails when told ----------------------------------- */

typedef struct pool_memory {
    atomic_long live, bytes, most, made, fail_at;
} pool_memory_t;

static void *fail_allocations(void *user, size_t bytes, size_t alignment)
{
    pool_memory_t *memory = user;
    char *start = NULL;
    if (atomic_fetch_add(&memory->made, 1) + 1 == atomic_load(&memory->fail_at))
        return NULL;
    size_t before = alignment < 64 ? 64 : alignment;
    if (posix_memalign((void **)&start, before, bytes + before) != 0)
        return NULL;
    *(size_t *)(start + before - 32) = bytes;
    *(char **)(start + before - 16) = start;
    long now = atomic_fetch_add(&memory->bytes, (long)bytes) + (long)bytes;
    for (long most = atomic_load(&memory->most);
         now > most && !atomic_compare_exchange_weak(&memory->most, &most, now);)
        continue;
    atomic_fetch_add(&memory->live, 1);
    return start + before;
}

static void allow_allocations(void *user, void *given)
{
    pool_memory_t *memory = user;
    atomic_fetch_sub(&memory->bytes, (long)*(size_t *)((char *)given - 32));
    atomic_fetch_sub(&memory->live, 1);
    free(*(char **)((char *)given - 16));
}

/* ---- A pool for each test ------------------------------------------------------------ */

typedef struct pool_fixture {
    pool_memory_t memory;
    char told[256];
    rung_context *context;
    rungi_pool *pool;
} pool_fixture_t;

static void keep_line(void *user, const char *line)
{
    snprintf(((pool_fixture_t *)user)->told, sizeof((pool_fixture_t *)user)->told, "%s", line);
}

static int make_pool(void **state)
{
    pool_fixture_t *own = calloc(1, sizeof *own);
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .verbose = 1,
                                    .log = keep_line,
                                    .log_user = own,
                                    .allocate = fail_allocations,
                                    .release = allow_allocations,
                                    .memory_user = &own->memory};
    *state = own;
    return rung_context_create(&options, &own->context) == RUNG_OK &&
                   rungi_pool_create(own->context, &own->pool) == RUNG_OK
               ? 0
               : -1;
}

static int destroy_pool(void **state)
{
    pool_fixture_t *own = *state;
    rungi_pool_destroy(own->pool);
    rung_context_destroy(own->context);
    long live = atomic_load(&own->memory.live);
    free(own);
    return live == 0 ? 0 : -1;
}

static long thread_id(void)
{
    return syscall(SYS_gettid);
}

static void sleep_ms(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* False after long enough that it is a hang. */
static bool wait_until_at_least(atomic_int *value, int wanted)
{
    for (int i = 0; i < 20000; i++) {
        if (atomic_load(value) >= wanted)
            return true;
        sleep_ms(1);
    }
    return false;
}

/* ---- Parts ----------------------------------------------------------------------------- */

enum { PARTS_MAX = 100 };

typedef struct part_counts {
    atomic_int done[PARTS_MAX];
    long who[PARTS_MAX];
} part_counts_t;

static void count_part(void *user, int64_t part, char *scratch)
{
    part_counts_t *tally = user;
    (void)scratch;
    tally->who[part] = thread_id();
    atomic_fetch_add(&tally->done[part], 1);
}

static int distinct(const long *who, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        bool is_new = true;
        for (int j = 0; j < i; j++)
            is_new = is_new && who[i] != who[j];
        found += is_new;
    }
    return found;
}

static void every_part_once(void **state)
{
    static const int64_t parts[] = {0, 1, 2, 3, 4, 7, 8, 30, PARTS_MAX};
    pool_fixture_t *own = *state;
    for (int64_t threads = 1; threads <= 7; threads++) {
        assert_int_equal(rungi_pool_reserve(own->pool, threads, 0), RUNG_OK);
        for (int repeat = 0; repeat < 200; repeat++) {
            part_counts_t tally = {0};
            int64_t count = parts[(size_t)repeat % (sizeof parts / sizeof *parts)];
            rungi_pool_run(own->pool, threads, 0, count, count_part, &tally);
            for (int64_t i = 0; i < PARTS_MAX; i++)
                assert_int_equal(atomic_load(&tally.done[i]), i < count);
            if (count > 0)
                assert_in_range(distinct(tally.who, (int)count), 1, threads);
        }
    }
}

/* Parts that are all begun before any of them ends: so many threads must come. */
typedef struct pool_barrier {
    atomic_int here, too_few;
    int wanted;
} pool_barrier_t;

static void wait_for_all(void *user, int64_t part, char *scratch)
{
    pool_barrier_t *meeting = user;
    (void)part;
    (void)scratch;
    atomic_fetch_add(&meeting->here, 1);
    if (!wait_until_at_least(&meeting->here, meeting->wanted))
        atomic_fetch_add(&meeting->too_few, 1);
}

static bool all_threads_take_part(rungi_pool *pool, int threads, int64_t scratch)
{
    pool_barrier_t meeting = {.wanted = threads};
    rungi_pool_run(pool, threads, scratch, threads, wait_for_all, &meeting);
    return atomic_load(&meeting.too_few) == 0;
}

/* Whether they are awake still, asleep, or just falling asleep. */
static void workers_start(void **state)
{
    pool_fixture_t *own = *state;
    assert_int_equal(rungi_pool_reserve(own->pool, 5, 0), RUNG_OK);
    for (int i = 0; i < 100; i++) {
        assert_true(all_threads_take_part(own->pool, 5, 0));
        struct timespec time = {0, i * 1000};
        if (i % 3 != 0)
            nanosleep(&time, NULL);
    }
    sleep_ms(20);
    assert_true(all_threads_take_part(own->pool, 5, 0));
    assert_true(all_threads_take_part(own->pool, 2, 0));
    assert_int_equal(rungi_pool_reserve(own->pool, 9, 4096), RUNG_OK); /* more of them */
    assert_true(all_threads_take_part(own->pool, 9, 4096));
}

static void count_part_slowly(void *user, int64_t part, char *scratch)
{
    count_part(user, part, scratch);
    sleep_ms(1);
}

/* Also where workers that were called before come late: to little work that is long done. */
static void at_most_the_requested_threads(void **state)
{
    pool_fixture_t *own = *state;
    assert_int_equal(rungi_pool_reserve(own->pool, 7, 0), RUNG_OK);
    for (int repeat = 0; repeat < 100; repeat++) {
        part_counts_t tally = {0};
        rungi_pool_run(own->pool, 7, 0, 7, count_part, &tally);
        rungi_pool_run(own->pool, 2, 0, 4, count_part_slowly, &tally);
        assert_in_range(distinct(tally.who, 4), 1, 2);
    }
}

/* A part of one piece of work that lasts until it is told to end. */
typedef struct pool_busy {
    rungi_pool *pool;
    int64_t threads, scratch;
    atomic_int begun, end;
    atomic_int lost; /* bytes of scratch that were not there any more at the end */
} pool_busy_t;

static void occupy_worker(void *user, int64_t part, char *scratch)
{
    pool_busy_t *holding = user;
    (void)part;
    if (scratch)
        memset(scratch, 0x5A, (size_t)holding->scratch);
    atomic_fetch_add(&holding->begun, 1);
    wait_until_at_least(&holding->end, 1);
    for (int64_t i = 0; scratch && i < holding->scratch; i++)
        if (scratch[i] != 0x5A)
            atomic_fetch_add(&holding->lost, 1);
}

static void *occupy_workers(void *user)
{
    pool_busy_t *holding = user;
    rungi_pool_run(holding->pool, holding->threads, holding->scratch, holding->threads, occupy_worker, holding);
    return NULL;
}

static pthread_t occupy_workers_begin(pool_busy_t *holding)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, occupy_workers, holding), 0);
    assert_true(wait_until_at_least(&holding->begun, (int)holding->threads));
    return thread;
}

static void occupy_workers_end(pool_busy_t *holding, pthread_t thread)
{
    atomic_store(&holding->end, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&holding->lost), 0);
}

/* Whoever finds the workers busy does all by itself, at once. */
static void busy_workers_are_not_waited_for(void **state)
{
    pool_fixture_t *own = *state;
    pool_busy_t holding = {.pool = own->pool, .threads = 3};
    part_counts_t tally = {0};
    assert_int_equal(rungi_pool_reserve(own->pool, 5, 0), RUNG_OK);
    pthread_t thread = occupy_workers_begin(&holding);
    rungi_pool_run(own->pool, 5, 0, 50, count_part, &tally);
    assert_int_equal(atomic_load(&holding.end), 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(tally.who[i], thread_id());
    occupy_workers_end(&holding, thread);
    assert_true(all_threads_take_part(own->pool, 5, 0));
}

/* Lets a caller work alone, because another owns the workers, and stay in its first part. */
static pthread_t occupy_caller_begin(pool_busy_t *holding)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, occupy_workers, holding), 0);
    assert_true(wait_until_at_least(&holding->begun, 1));
    return thread;
}

/* Callers and workers together are no more threads than processors, or than the job requests. */
static void callers_take_the_place_of_workers(void **state)
{
    enum { MOST_CALLERS = 64 };
    pool_fixture_t *own = *state;
    static pool_busy_t holding[MOST_CALLERS];
    pthread_t callers[MOST_CALLERS];
    int threads = (int)rungi_pool_processors(own->pool) + 2;
    if (threads > MOST_CALLERS)
        skip();
    assert_int_equal(rungi_pool_reserve(own->pool, threads, 0), RUNG_OK);
    for (int i = 0; i < threads; i++)
        holding[i] = (pool_busy_t){.pool = own->pool, .threads = 2};
    callers[0] = occupy_workers_begin(&holding[0]); /* owns the workers until all others have begun */
    for (int i = 1; i < threads; i++)
        callers[i] = occupy_caller_begin(&holding[i]);
    occupy_workers_end(&holding[0], callers[0]);
    for (int left = threads - 1; left > 0; left--) { /* callers that still compute */
        part_counts_t tally = {0};
        rungi_pool_run(own->pool, threads, 0, 30, count_part_slowly, &tally);
        assert_in_range(distinct(tally.who, 30), 1, threads - left);
        occupy_workers_end(&holding[left], callers[left]);
    }
    assert_true(all_threads_take_part(own->pool, threads, 0));
}

typedef struct nested_run {
    rungi_pool *pool;
    part_counts_t tallies[4];
} nested_run_t;

static void run_inside(void *user, int64_t part, char *scratch)
{
    nested_run_t *nest = user;
    (void)scratch;
    rungi_pool_run(nest->pool, 4, 0, 20, count_part, &nest->tallies[part]);
}

static void work_may_run_work(void **state)
{
    pool_fixture_t *own = *state;
    assert_int_equal(rungi_pool_reserve(own->pool, 4, 8192), RUNG_OK);
    for (int repeat = 0; repeat < 50; repeat++) {
        nested_run_t nest = {.pool = own->pool};
        rungi_pool_run(own->pool, 4, 8192, 4, run_inside, &nest);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < PARTS_MAX; j++)
                assert_int_equal(atomic_load(&nest.tallies[i].done[j]), j < 20);
    }
}

/* ---- What a worker has of the caller's ------------------------------------------------- */

typedef struct pool_observed {
    pool_barrier_t meeting;
    int rounding[4];
    sigset_t blocked[4];
    long who[4];
} pool_observed_t;

static void observe_thread(void *user, int64_t part, char *scratch)
{
    pool_observed_t *seen = user;
    seen->rounding[part] = fegetround();
    seen->who[part] = thread_id();
    pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked[part]);
    wait_for_all(&seen->meeting, part, scratch);
}

/* The rounding mode is the caller's, whoever computes: the same bits on any thread. */
static void workers_use_the_callers_rounding(void **state)
{
    static const int modes[] = {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
    pool_fixture_t *own = *state;
    assert_int_equal(rungi_pool_reserve(own->pool, 4, 0), RUNG_OK);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        pool_observed_t seen = {.meeting = {.wanted = 4}};
        assert_int_equal(fesetround(modes[i]), 0);
        rungi_pool_run(own->pool, 4, 0, 4, observe_thread, &seen);
        int after = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(after, modes[i]);
        assert_int_equal(distinct(seen.who, 4), 4);
        for (int j = 0; j < 4; j++)
            assert_int_equal(seen.rounding[j], modes[i]);
    }
}

static void workers_block_signals(void **state)
{
    pool_fixture_t *own = *state;
    pool_observed_t seen = {.meeting = {.wanted = 4}};
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(rungi_pool_reserve(own->pool, 4, 0), RUNG_OK);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    rungi_pool_run(own->pool, 4, 0, 4, observe_thread, &seen);
    for (int signal = 1; signal < 32; signal++)
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
    for (int i = 0; i < 4; i++) {
        bool is_worker = seen.who[i] != thread_id();
        assert_int_equal(sigismember(&seen.blocked[i], SIGINT), is_worker);
        assert_int_equal(sigismember(&seen.blocked[i], SIGCHLD), is_worker);
        assert_int_equal(sigismember(&seen.blocked[i], SIGSEGV), 0);
        assert_int_equal(sigismember(&seen.blocked[i], SIGFPE), 0);
    }
}

/* ---- Memory ------------------------------------------------------------------------------ */

enum { SCRATCH = 3 << 20 };

typedef struct patterns {
    int64_t bytes;
    atomic_int wrong;
} patterns_t;

/* Fills its scratch with a number of its own, and looks later whether it is there still. */
static void write_and_check_pattern(void *user, int64_t part, char *scratch)
{
    patterns_t *patterns = user;
    uint64_t mine = (uint64_t)thread_id() << 32 | (uint64_t)part, *words = (uint64_t *)(void *)scratch;
    if ((uintptr_t)scratch % (patterns->bytes >= 2 << 20 ? 2 << 20 : 4096) != 0)
        atomic_fetch_add(&patterns->wrong, 1);
    for (int64_t i = 0; i < patterns->bytes / 8; i++)
        words[i] = mine;
    for (int64_t i = 0; i < patterns->bytes / 8; i++)
        if (words[i] != mine)
            atomic_fetch_add(&patterns->wrong, 1);
}

static void scratch_is_exclusive(void **state)
{
    pool_fixture_t *own = *state;
    static const int64_t sizes[] = {1, 100, 4096, 70000, 1 << 20, SCRATCH};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        patterns_t patterns = {.bytes = sizes[i]};
        assert_int_equal(rungi_pool_reserve(own->pool, 4, sizes[i]), RUNG_OK);
        for (int repeat = 0; repeat < 5; repeat++)
            rungi_pool_run(own->pool, 4, sizes[i], 8, write_and_check_pattern, &patterns);
        assert_int_equal(atomic_load(&patterns.wrong), 0);
    }
}

/* More and larger arenas are asked for one after the other: both are had then. */
static void reserved_memory_never_shrinks(void **state)
{
    pool_fixture_t *own = *state;
    int many = (int)rungi_pool_processors(own->pool) + 3;
    patterns_t large = {.bytes = SCRATCH}, larger = {.bytes = 2 * SCRATCH};
    assert_int_equal(rungi_pool_reserve(own->pool, 2, SCRATCH), RUNG_OK);
    assert_int_equal(rungi_pool_reserve(own->pool, many, 4096), RUNG_OK);
    rungi_pool_run(own->pool, 2, SCRATCH, 2, write_and_check_pattern, &large);
    assert_int_equal(rungi_pool_reserve(own->pool, 2, 2 * SCRATCH), RUNG_OK);
    assert_true(all_threads_take_part(own->pool, many, 4096));
    rungi_pool_run(own->pool, 2, 2 * SCRATCH, 2, write_and_check_pattern, &larger);
    assert_int_equal(atomic_load(&large.wrong) + atomic_load(&larger.wrong), 0);
}

/* Who waits for memory gets what is made meanwhile. */
static void growing_wakes_waiters(void **state)
{
    pool_fixture_t *own = *state;
    int all = (int)rungi_pool_processors(own->pool);
    pool_busy_t all_of_it = {.pool = own->pool, .threads = all, .scratch = 5000};
    pool_busy_t late = {.pool = own->pool, .threads = 1, .scratch = 5000, .end = 1};
    pthread_t thread;
    assert_int_equal(rungi_pool_reserve(own->pool, all, 5000), RUNG_OK);
    pthread_t first = occupy_workers_begin(&all_of_it);
    assert_int_equal(pthread_create(&thread, NULL, occupy_workers, &late), 0);
    sleep_ms(50);
    assert_int_equal(atomic_load(&late.begun), 0); /* all are taken */
    assert_int_equal(rungi_pool_reserve(own->pool, 1, 50000), RUNG_OK);
    bool is_woken = wait_until_at_least(&late.begun, 1);
    occupy_workers_end(&all_of_it, first);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_woken);
}

/* Threads that wait for arenas which this one has. */
typedef struct arena_waiters {
    rungi_arena_pool arenas;
    pthread_t threads[5];
    int count;
    atomic_int served, end, too_small;
    int64_t bytes;
} arena_waiters_t;

static void *wait_for_arena(void *user)
{
    arena_waiters_t *queueing = user;
    rungi_arena *arena = rungi_arena_acquire(&queueing->arenas);
    atomic_fetch_add(&queueing->too_small, arena->bytes < queueing->bytes);
    atomic_fetch_add(&queueing->served, 1);
    wait_until_at_least(&queueing->end, 1);
    rungi_arena_release(&queueing->arenas, arena);
    return NULL;
}

static void start_waiters(arena_waiters_t *queueing, int count)
{
    queueing->count = count;
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&queueing->threads[i], NULL, wait_for_arena, queueing), 0);
    assert_true(wait_until_at_least(&queueing->arenas.waiting, count));
}

static void join_waiters(arena_waiters_t *queueing)
{
    atomic_store(&queueing->end, 1);
    bool are_served = wait_until_at_least(&queueing->served, queueing->count);
    for (int i = 0; are_served && i < queueing->count; i++)
        assert_int_equal(pthread_join(queueing->threads[i], NULL), 0);
    assert_true(are_served);
    assert_int_equal(atomic_load(&queueing->too_small), 0);
    assert_int_equal(atomic_load(&queueing->arenas.waiting), 0);
}

/* Whoever finds none free gets another one, up to the most there may be. */
static void arenas_are_made_as_needed(void **state)
{
    enum { MOST = 3 };
    pool_fixture_t *own = *state;
    rungi_arena_pool arenas;
    rungi_arena *taken[MOST];
    rungi_arena_pool_init(&arenas, own->context);
    arenas.max_arenas = MOST;
    assert_int_equal(rungi_arena_pool_reserve(&arenas, 1, 4096), RUNG_OK);
    for (int i = 0; i < MOST; i++) {
        assert_true(i == 0 || !atomic_load(&arenas.newest_set)->arenas[i].memory);
        taken[i] = i % 2 ? rungi_arena_try_acquire(&arenas) : rungi_arena_acquire(&arenas);
        assert_non_null(taken[i]);
        assert_non_null(taken[i]->memory);
        for (int j = 0; j < i; j++)
            assert_true(taken[i] != taken[j]);
    }
    assert_null(rungi_arena_try_acquire(&arenas));
    for (int i = 0; i < MOST; i++)
        rungi_arena_release(&arenas, taken[i]);
    assert_int_equal(rungi_arena_pool_reserve(&arenas, 1, 1 << 20), RUNG_OK); /* as many as there were */
    for (int i = 0; i < MOST; i++)
        assert_non_null(atomic_load(&arenas.newest_set)->arenas[i].memory);
    rungi_arena_pool_free(&arenas);
}

/* Who has waited is handed what comes free, and need not be quicker than others. */
static void waiters_are_woken(void **state)
{
    pool_fixture_t *own = *state;
    arena_waiters_t queueing = {.bytes = 4096};
    rungi_arena_pool_init(&queueing.arenas, own->context);
    assert_int_equal(rungi_arena_pool_reserve(&queueing.arenas, 1, 4096), RUNG_OK);
    rungi_arena *arena = rungi_arena_acquire(&queueing.arenas);
    assert_null(rungi_arena_try_acquire(&queueing.arenas));
    start_waiters(&queueing, 5);
    rungi_arena_release(&queueing.arenas, arena);
    join_waiters(&queueing);
    assert_true(arena->handed_over_ns > 0);
    assert_ptr_equal(rungi_arena_try_acquire(&queueing.arenas), arena);
    rungi_arena_release(&queueing.arenas, arena);
    rungi_arena_pool_free(&queueing.arenas);
}

/* Several come free at once, and the first who waits is called: the others are served too. */
static void every_waiter_gets_an_arena(void **state)
{
    pool_fixture_t *own = *state;
    arena_waiters_t queueing = {.bytes = 4096};
    rungi_arena_pool_init(&queueing.arenas, own->context);
    assert_int_equal(rungi_arena_pool_reserve(&queueing.arenas, 1, 4096), RUNG_OK);
    rungi_arena *arena = rungi_arena_acquire(&queueing.arenas);
    start_waiters(&queueing, 3);
    assert_int_equal(rungi_arena_pool_reserve(&queueing.arenas, 3, 50000), RUNG_OK);
    bool are_served = wait_until_at_least(&queueing.served, 3);
    rungi_arena_release(&queueing.arenas, arena);
    join_waiters(&queueing);
    assert_true(are_served);
    rungi_arena_pool_free(&queueing.arenas);
}

/* Who waits for a large one is not handed an old one. */
static void small_arenas_are_not_reused_for_large_requests(void **state)
{
    pool_fixture_t *own = *state;
    arena_waiters_t queueing = {.bytes = 50000};
    rungi_arena_pool_init(&queueing.arenas, own->context);
    assert_int_equal(rungi_arena_pool_reserve(&queueing.arenas, 1, 4096), RUNG_OK);
    rungi_arena *old = rungi_arena_acquire(&queueing.arenas);
    assert_int_equal(rungi_arena_pool_reserve(&queueing.arenas, 1, 50000), RUNG_OK);
    rungi_arena *large = rungi_arena_acquire(&queueing.arenas);
    start_waiters(&queueing, 1);
    rungi_arena_release(&queueing.arenas, old);
    sleep_ms(20);
    assert_int_equal(atomic_load(&queueing.served), 0);
    rungi_arena_release(&queueing.arenas, large);
    join_waiters(&queueing);
    rungi_arena_pool_free(&queueing.arenas);
}

/* Larger memory is made while smaller is in use: at once, and under nobody's feet. */
static void growing_while_running(void **state)
{
    pool_fixture_t *own = *state;
    pool_busy_t holding = {.pool = own->pool, .threads = 2, .scratch = 50000};
    assert_int_equal(rungi_pool_reserve(own->pool, 2, 50000), RUNG_OK);
    pthread_t thread = occupy_workers_begin(&holding);
    for (int64_t bytes = 100000; bytes < 20 << 20; bytes *= 4) {
        patterns_t patterns = {.bytes = bytes};
        assert_int_equal(rungi_pool_reserve(own->pool, 3, bytes), RUNG_OK);
        rungi_pool_run(own->pool, 3, bytes, 3, write_and_check_pattern, &patterns);
        assert_int_equal(atomic_load(&patterns.wrong), 0);
    }
    assert_int_equal(atomic_load(&holding.end), 0);
    occupy_workers_end(&holding, thread);
    long with_old = atomic_load(&own->memory.bytes);
    assert_int_equal(rungi_pool_reserve(own->pool, 3, 40 << 20), RUNG_OK);
    int64_t arenas = rungi_pool_processors(own->pool) > 3 ? rungi_pool_processors(own->pool) : 3;
    assert_true(atomic_load(&own->memory.bytes) < arenas * (41 << 20)); /* the old ones are gone */
    assert_true(with_old < 2 * arenas * (20 << 20));
}

static void *reserve_more_and_more(void *user)
{
    pool_busy_t *holding = user;
    for (int64_t bytes = 4096; bytes <= 2 << 20 && !atomic_load(&holding->end); bytes *= 2) {
        patterns_t patterns = {.bytes = bytes};
        if (rungi_pool_reserve(holding->pool, 2 + bytes % 3, bytes) != RUNG_OK)
            atomic_fetch_add(&holding->begun, 1);
        rungi_pool_run(holding->pool, 2, bytes, 2, write_and_check_pattern, &patterns);
        atomic_fetch_add(&holding->begun, atomic_load(&patterns.wrong));
    }
    return NULL;
}

/* Several that grow it at once, while others wait for memory. */
static void concurrent_growth(void **state)
{
    enum { MANY = 8 };
    pool_fixture_t *own = *state;
    pthread_t threads[MANY];
    pool_busy_t holding = {.pool = own->pool};
    for (int i = 0; i < MANY; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reserve_more_and_more, &holding), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&holding.begun), 0);
}

typedef struct pool_callers {
    pool_fixture_t *own;
    atomic_int wrong, done;
} pool_callers_t;

enum { CROWD = 200, CROWD_RUNS = 10, CROWD_SCRATCH = 300000 };

static void *run_as_caller(void *user)
{
    pool_callers_t *crowd = user;
    for (int i = 0; i < CROWD_RUNS; i++) {
        patterns_t patterns = {.bytes = CROWD_SCRATCH};
        part_counts_t tally = {0};
        if (rungi_pool_reserve(crowd->own->pool, 2, CROWD_SCRATCH) != RUNG_OK)
            atomic_fetch_add(&crowd->wrong, 1);
        rungi_pool_run(crowd->own->pool, 2, CROWD_SCRATCH, 2, write_and_check_pattern, &patterns);
        rungi_pool_run(crowd->own->pool, 2, 0, 10, count_part, &tally);
        atomic_fetch_add(&crowd->wrong, atomic_load(&patterns.wrong));
        for (int j = 0; j < PARTS_MAX; j++)
            atomic_fetch_add(&crowd->wrong, atomic_load(&tally.done[j]) != (j < 10));
        atomic_fetch_add(&crowd->done, 1);
    }
    return NULL;
}

/* Two hundred callers at once: all are served, with the memory of a few. */
static void two_hundred_callers(void **state)
{
    pool_fixture_t *own = *state;
    pthread_t threads[CROWD];
    pool_callers_t crowd = {.own = own};
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_as_caller, &crowd), 0);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&crowd.wrong), 0);
    assert_int_equal(atomic_load(&crowd.done), CROWD * CROWD_RUNS);
    int64_t arenas = rungi_pool_processors(own->pool) > 2 ? rungi_pool_processors(own->pool) : 2;
    long shelf = (long)(arenas * (2 << 20));                                 /* a large page each */
    assert_in_range(atomic_load(&own->memory.bytes), 1, shelf + (64 << 10)); /* and the contexts' own */
}

static void running_allocates_nothing(void **state)
{
    pool_fixture_t *own = *state;
    patterns_t patterns = {.bytes = 10000};
    assert_int_equal(rungi_pool_reserve(own->pool, 3, 10000), RUNG_OK);
    long before = atomic_load(&own->memory.made);
    for (int i = 0; i < 100; i++)
        rungi_pool_run(own->pool, 1 + i % 3, 10000, 5, write_and_check_pattern, &patterns);
    assert_int_equal(rungi_pool_reserve(own->pool, 2, 9000), RUNG_OK); /* there already */
    assert_int_equal(atomic_load(&own->memory.made), before);
}

/* ---- What cannot be made ------------------------------------------------------------------ */

static void no_memory(void **state)
{
    pool_fixture_t *own = *state;
    long n = 1;
    for (;; n++) {
        long live = atomic_load(&own->memory.live);
        atomic_store(&own->memory.made, 0);
        atomic_store(&own->memory.fail_at, n);
        rung_status status = rungi_pool_reserve(own->pool, 1, 10000 << n % 4);
        atomic_store(&own->memory.fail_at, 0);
        if (status == RUNG_OK && atomic_load(&own->memory.made) < n)
            break;
        assert_int_equal(status, RUNG_STATUS_NO_MEMORY);
        assert_non_null(strstr(rung_error_text(), "memory"));
        assert_int_equal(atomic_load(&own->memory.live), live); /* all given back */
    }
    assert_true(n > 2);
    patterns_t patterns = {.bytes = 10000};
    assert_int_equal(rungi_pool_reserve(own->pool, 3, 10000), RUNG_OK);
    rungi_pool_run(own->pool, 3, 10000, 6, write_and_check_pattern, &patterns);
    assert_int_equal(atomic_load(&patterns.wrong), 0);
}

/* No memory for a worker is no failure either: the others do its parts. */
static void no_memory_for_workers(void **state)
{
    pool_fixture_t *own = *state;
    part_counts_t tally = {0};
    char sentence[256];
    assert_int_equal(rung_kernel_check(NULL, NULL), RUNG_STATUS_INVALID); /* a sentence that has to stay */
    snprintf(sentence, sizeof sentence, "%s", rung_error_text());
    atomic_store(&own->memory.fail_at, atomic_load(&own->memory.made) + 2);
    assert_int_equal(rungi_pool_reserve(own->pool, 4, 0), RUNG_OK);
    assert_string_equal(rung_error_text(), sentence);
    assert_non_null(strstr(own->told, "2 of 4 threads"));
    rungi_pool_run(own->pool, 4, 0, 30, count_part, &tally);
    for (int i = 0; i < 30; i++)
        assert_int_equal(atomic_load(&tally.done[i]), 1);
}

static void no_threads(void **state)
{
    pool_fixture_t *own = *state;
    for (int can = 0; can < 3; can++) {
        part_counts_t tally = {0};
        rungi_pool *pool;
        own->told[0] = '\0';
        assert_int_equal(rungi_pool_create(own->context, &pool), RUNG_OK);
        atomic_store(&threads_left, can);
        assert_int_equal(rungi_pool_reserve(pool, 7, 5000), RUNG_OK);
        char expected[64];
        snprintf(expected, sizeof expected, "%d of 7 threads", can + 1);
        assert_non_null(strstr(own->told, expected));
        own->told[0] = '\0';
        rungi_pool_run(pool, 7, 5000, 60, count_part, &tally);
        assert_string_equal(own->told, ""); /* not tried again so soon */
        for (int i = 0; i < 60; i++)
            assert_int_equal(atomic_load(&tally.done[i]), 1);
        assert_in_range(distinct(tally.who, 60), 1, can + 1);
        assert_true(all_threads_take_part(pool, can + 1, 5000));
        atomic_store(&threads_left, INT32_MAX);
        if (can == 2) { /* what passes is made good */
            sleep_ms(1100);
            assert_true(all_threads_take_part(pool, 7, 5000));
        }
        rungi_pool_destroy(pool);
    }
}

/* ---- The end ------------------------------------------------------------------------------ */

static int threads_here(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks && readdir(tasks))
        count++;
    if (tasks)
        closedir(tasks);
    return count;
}

static void destroying_ends_the_threads(void **state)
{
    pool_fixture_t *own = *state;
    int before = threads_here();
    for (int i = 0; i < 20; i++) {
        rungi_pool *pool;
        part_counts_t tally = {0};
        assert_int_equal(rungi_pool_create(own->context, &pool), RUNG_OK);
        assert_int_equal(rungi_pool_reserve(pool, 6, i % 2 ? 5000 : 0), RUNG_OK);
        assert_true(threads_here() >= before + 5);
        if (i % 3 != 0)
            rungi_pool_run(pool, 6, 0, 12, count_part, &tally);
        rungi_pool_destroy(pool); /* while they are awake still, or asleep */
        for (int wait = 0; wait < 2000 && threads_here() > before; wait++)
            sleep_ms(1); /* joined ones may be seen a little longer */
        assert_int_equal(threads_here(), before);
    }
    rungi_pool_destroy(NULL);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_pool, destroy_pool)
    const struct CMUnitTest tests[] = {
        TEST(every_part_once),
        TEST(workers_start),
        TEST(at_most_the_requested_threads),
        TEST(busy_workers_are_not_waited_for),
        TEST(callers_take_the_place_of_workers),
        TEST(work_may_run_work),
        TEST(workers_use_the_callers_rounding),
        TEST(workers_block_signals),
        TEST(scratch_is_exclusive),
        TEST(reserved_memory_never_shrinks),
        TEST(arenas_are_made_as_needed),
        TEST(waiters_are_woken),
        TEST(every_waiter_gets_an_arena),
        TEST(small_arenas_are_not_reused_for_large_requests),
        TEST(growing_wakes_waiters),
        TEST(growing_while_running),
        TEST(concurrent_growth),
        TEST(two_hundred_callers),
        TEST(running_allocates_nothing),
        TEST(no_memory),
        TEST(no_memory_for_workers),
        TEST(no_threads),
        TEST(destroying_ends_the_threads),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
