/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - the library under load: load [SECONDS [THREADS [PART]]], 8 s and 1,000 threads unless given. Each part gets a third of
 * the time, or one part all of it:
 *
 *   mixed      calls, plans, packing and contexts in ten threads, while signals arrive, threads are cancelled and processes are
 *              forked and executed, with a limit of the address space; memory must stay constant
 *   threads    THREADS threads with small stacks multiply mixed shapes in one context
 *   processes  two processes tune and, if there is a CUDA device, compile kernels into one cache
 *
 * Every result is compared. Prints a row per part, as results/trust/load.tsv has them. */
#define _GNU_SOURCE
#include "support/cancelled_thread.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load_work.h"

enum {
    STACK_BYTES = 96 << 10,
    MIXED_THREADS = 10,
    SAMPLES_MAX = 100000,
    CHILD_SECONDS_MAX = 300,
    SPARE_MIB = 384 /* that the address space may grow by in the mixed part */
};

static const char *program;
static atomic_bool is_over;
static atomic_llong signals_received;

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *allocate_c(void)
{
    void *c = malloc(LOAD_C_BYTES);
    if (!c)
        abort();
    return c;
}

/* Returns the pages of the process: all (0), or those in memory (1). In KiB. */
static long memory_kib(int what)
{
    long pages[2] = {0, 0};
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2)
        pages[0] = pages[1] = 0;
    if (file)
        fclose(file);
    return pages[what] * (sysconf(_SC_PAGESIZE) / 1024);
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* ---- Many threads ---------------------------------------------------------------------------------------------- */

static rung_context *shared_context;

static void *multiply_until_over(void *user)
{
    int number = (int)(intptr_t)user;
    void *c = allocate_c();
    for (int i = number; !atomic_load(&is_over); i += 7)
        load_multiply(number % 2 ? shared_context : NULL, i, c);
    free(c);
    return NULL;
}

static bool run_threads(double seconds, int count)
{
    pthread_attr_t attributes;
    pthread_t *threads = malloc((size_t)count * sizeof *threads);
    int started = 0;
    int64_t before = load_done();
    if (!threads)
        return false;
    atomic_store(&is_over, false);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (started < count &&
           pthread_create(&threads[started], &attributes, multiply_until_over, (void *)(intptr_t)started) == 0)
        started++;
    double end = seconds_now() + seconds;
    while (seconds_now() < end)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    atomic_store(&is_over, true);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    pthread_attr_destroy(&attributes);
    printf("threads\t%.0f s\t%d threads, %lld multiplications, %lld wrong\n", seconds, started,
           (long long)(load_done() - before), (long long)load_wrong());
    return started == count && load_wrong() == 0 && load_done() - before >= count;
}

/* ---- Mixed work ------------------------------------------------------------------------------------------------ */

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals_received, 1);
}

/* Signals arrive every 2 ms and interrupt system calls. */
static void send_signals(bool is_on)
{
    struct sigaction action;
    struct itimerval timer = {{0, is_on ? 2000 : 0}, {0, is_on ? 2000 : 0}};
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Even threads multiply; the others make plans, pack, and make contexts. */
static void *work_until_over(void *user)
{
    int number = (int)(intptr_t)user;
    void *c = allocate_c();
    rung_device *device = NULL;
    rung_queue *queue = NULL;
    if (!load_count(rung_device_open(shared_context, "cpu", &device) == RUNG_OK &&
                    rung_queue_create(device, &queue) == RUNG_OK))
        atomic_store(&is_over, true);
    for (int i = number; !atomic_load(&is_over); i++)
        if (number % 2 == 0)
            load_multiply(shared_context, i, c);
        else if (i % 20 == 0)
            load_use_context(i, c);
        else
            load_run_plan(device, queue, i, i % 3 == 0, c);
    rung_queue_destroy(queue);
    rung_device_close(device);
    free(c);
    return NULL;
}

static void multiply_once(void *c)
{
    load_multiply(shared_context, 8, c);
}

/* Waits for a child; signals interrupt the wait. */
static bool child_was_right(pid_t child)
{
    int status = -1;
    pid_t ended;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    return load_count(ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A child multiplies in the contexts of its parent and in a new one; or it executes this program, which does the same. */
static bool fork_child(int number)
{
    pid_t child = fork();
    if (child < 0)
        return load_count(false);
    if (child == 0) {
        send_signals(false);
        signal(SIGALRM, SIG_DFL);
        alarm(CHILD_SECONDS_MAX);
        if (number % 2)
            execl(program, program, "--child", (char *)NULL);
        void *c = allocate_c();
        _exit(load_multiply(shared_context, number, c) && load_multiply(NULL, number + 1, c) &&
                      load_use_context(number + 2, c)
                  ? 0
                  : 1);
    }
    return child_was_right(child);
}

typedef struct counts {
    int forks, cancels, samples;
    long resident[SAMPLES_MAX], heap[SAMPLES_MAX]; /* KiB, twice per second */
} counts_t;

static void disturb(double seconds, counts_t *counts)
{
    double start = seconds_now(), next = start;
    void *c = allocate_c();
    for (int i = 0; seconds_now() - start < seconds && !atomic_load(&is_over); i++) {
        fork_child(i);
        counts->forks++;
        cancelled_thread_call("multiply", multiply_once, c, (i % 5 - 1) * 20000L);
        counts->cancels++;
        if (seconds_now() >= next && counts->samples < SAMPLES_MAX) {
            struct mallinfo2 heap = mallinfo2();
            counts->heap[counts->samples] = (long)((heap.uordblks + heap.hblkhd) / 1024);
            counts->resident[counts->samples++] = memory_kib(1);
            next += 0.5;
        }
    }
    free(c);
}

static long largest(const long *values, int from, int end)
{
    long most = 0;
    for (int i = from; i < end; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* Memory is constant if the last quarter of the time needs no more than the second quarter, except for 5 percent and `spare_kib`,
 * because threads never do exactly the same. Prints both. */
static bool is_constant(const counts_t *counts, const char *name, const long *kib, long spare_kib)
{
    int quarter = counts->samples / 4;
    long second = largest(kib, quarter, 2 * quarter + 1);
    long last = largest(kib, counts->samples - quarter - 1, counts->samples);
    printf(", %s %.1f MiB in the second quarter and %.1f MiB in the last", name, (double)second / 1024,
           (double)last / 1024);
    return counts->samples < 4 || last <= second + second / 20 + spare_kib;
}

static bool limit_memory(rlim_t *before)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    *before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)memory_kib(0) * 1024 + (rlim_t)SPARE_MIB * 1024 * 1024;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

static bool run_mixed(double seconds, int thread_count)
{
    static counts_t counts;
    pthread_t threads[MIXED_THREADS];
    int64_t before = load_done();
    int files = open_files();
    rlim_t unlimited;
    (void)thread_count; /* it has MIXED_THREADS */
    if (!limit_memory(&unlimited))
        return false;
    atomic_store(&is_over, false);
    send_signals(true);
    for (int i = 0; i < MIXED_THREADS; i++)
        if (pthread_create(&threads[i], NULL, work_until_over, (void *)(intptr_t)i) != 0)
            abort();
    disturb(seconds, &counts);
    atomic_store(&is_over, true);
    for (int i = 0; i < MIXED_THREADS; i++)
        pthread_join(threads[i], NULL);
    send_signals(false);
    struct rlimit limit = {0, 0};
    getrlimit(RLIMIT_AS, &limit);
    long mib = (long)(limit.rlim_cur >> 20);
    limit.rlim_cur = unlimited;
    setrlimit(RLIMIT_AS, &limit);
    printf(
        "mixed\t%.0f s\t%lld results, %lld wrong, %d processes, %d cancelled threads, %lld signals, limit %ld MiB, %d more open "
        "files",
        seconds, (long long)(load_done() - before), (long long)load_wrong(), counts.forks, counts.cancels,
        (long long)atomic_load(&signals_received), mib, open_files() - files);
    bool is_flat = is_constant(&counts, "resident", counts.resident, 8192);
    is_flat = is_constant(&counts, "allocated", counts.heap, 4096) && is_flat;
    printf("\n");
    return load_wrong() == 0 && is_flat && open_files() <= files && atomic_load(&signals_received) > 0;
}

/* ---- Two processes that tune and cache ------------------------------------------------------------------------- */

static double tuning_end;

static int stop_at_end(void *user, const rung_tune_progress *progress)
{
    (void)user;
    (void)progress;
    return seconds_now() >= tuning_end;
}

static bool save_record(rung_device *device, const rung_problem *problem, int number)
{
    rung_tuning tuning = rung_tuning_default();
    rung_kernel *kernel;
    if (rung_kernel_find(rung_device_context(device), "cpu", "10", &kernel) != RUNG_OK)
        return false;
    tuning.kernel = rung_kernel_describe(kernel)->name;
    tuning.parameters = rung_kernel_describe(kernel)->defaults;
    tuning.gflops = number;
    return rung_tuning_save(device, problem, &tuning, NULL) == RUNG_OK;
}

static bool tune(rung_device *device, int number)
{
    rung_tune_options options = rung_tune_options_default();
    rung_problem problem = load_problem(number, NULL);
    options.seconds = 0.2;
    options.progress = stop_at_end;
    if (number % 4 != 0)
        return load_count(number % 7 == 3 ? rung_tuning_remove(device, &problem, NULL, NULL) == RUNG_OK
                                          : save_record(device, &problem, number));
    return load_count(rung_tune(device, &problem, &options, NULL) == RUNG_OK);
}

/* One kernel of a few, compiled or read from the cache. */
static bool compile(rung_device *device, int number)
{
    static const char *const parameters[] = {"TILE=8", "TILE=16", "TILE=32"};
    rung_plan_options options = rung_plan_options_default();
    rung_problem problem = load_problem(0, NULL);
    rung_kernel *kernel;
    rung_plan *plan = NULL;
    bool is_right = rung_kernel_find(rung_device_context(device), "cuda", "04", &kernel) == RUNG_OK;
    options.kernel = kernel;
    options.parameters = parameters[number % 3];
    is_right = is_right && rung_plan_create(device, &problem, &options, &plan) == RUNG_OK;
    rung_plan_destroy(plan);
    return load_count(is_right);
}

/* What each of the two processes does, in new contexts all the time: each reads the tuning file and the cache again. */
static int tune_and_cache(double seconds)
{
    void *c = allocate_c();
    int compiled = 0;
    tuning_end = seconds_now() + seconds;
    for (int i = (int)getpid() % 100; seconds_now() < tuning_end; i++) {
        rung_context *context = NULL;
        rung_device *device = NULL, *gpu = NULL;
        if (!load_count(rung_context_create(NULL, &context) == RUNG_OK &&
                        rung_device_open(context, "cpu", &device) == RUNG_OK))
            break;
        tune(device, i);
        load_multiply(context, i, c);
        if (i % 8 == 0 && rung_device_open(context, "cuda", &gpu) == RUNG_OK)
            compiled += compile(gpu, i);
        rung_device_close(gpu);
        rung_device_close(device);
        rung_context_destroy(context);
    }
    free(c);
    printf("process\t%.0f s\t%lld results, %lld wrong, %d kernels compiled or read from the cache\n", seconds,
           (long long)load_done(), (long long)load_wrong(), compiled);
    return load_wrong() == 0 ? 0 : 1;
}

static void remove_folder(const char *path)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command) != 0)
        perror(path);
}

static bool run_processes(double seconds, int thread_count)
{
    char folder[] = "/tmp/rung-load-XXXXXX", text[32];
    pid_t children[2];
    bool right = true;
    (void)thread_count; /* it has two processes */
    if (!mkdtemp(folder))
        return false;
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("RUNG_TUNING");
    snprintf(text, sizeof text, "%g", seconds);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            execl(program, program, "--tune", text, (char *)NULL);
            _exit(2);
        }
    }
    for (int i = 0; i < 2; i++)
        right = child_was_right(children[i]) && right;
    char path[128], copy[128];
    int64_t records = 0;
    snprintf(path, sizeof path, "%s/rung/tuning", folder);
    snprintf(copy, sizeof copy, "%s/copy", folder);
    right = rung_tuning_merge(NULL, path, copy, &records) == RUNG_OK && records > 0 && right;
    printf("processes\t%.0f s\t2 processes, %lld records in the tuning file, %s\n", seconds, (long long)records,
           right ? "all right" : "wrong");
    remove_folder(folder);
    return right;
}

/* ---- The program ----------------------------------------------------------------------------------------------- */

static int run_child(void)
{
    void *c = allocate_c();
    bool right = load_multiply(NULL, 1, c) && load_use_context(2, c);
    free(c);
    return right ? 0 : 1;
}

typedef struct load_part {
    const char *name;
    bool (*run)(double seconds, int threads);
} load_part_t;

enum { PARTS = 3 };

static const load_part_t parts[PARTS] = {{"mixed", run_mixed}, {"threads", run_threads}, {"processes", run_processes}};

static bool is_part(const char *name)
{
    for (int i = 0; i < PARTS; i++)
        if (strcmp(name, parts[i].name) == 0)
            return true;
    return false;
}

/* Runs one part, or each of them for a third of the time if `name` is NULL. */
static bool run_parts(const char *name, double seconds, int threads)
{
    bool right = true;
    for (int i = 0; i < PARTS; i++) {
        if (name && strcmp(name, parts[i].name) != 0)
            continue;
        right = parts[i].run(name ? seconds : seconds / PARTS, threads) && right;
        fflush(stdout);
    }
    return right;
}

int main(int count, char **words)
{
    double seconds = count > 1 ? atof(words[1]) : 8;
    int threads = count > 2 ? atoi(words[2]) : 1000;
    rung_context_options options = rung_context_options_default();
    program = words[0];
    mallopt(M_ARENA_MAX, 2); /* else each thread reserves 64 MiB of the address space */
    load_work_create();
    if (count > 1 && strcmp(words[1], "--child") == 0)
        return run_child();
    if (count > 2 && strcmp(words[1], "--tune") == 0)
        return tune_and_cache(atof(words[2]));
    if (count > 3 && !is_part(words[3])) {
        fprintf(stderr, "load: there is no part %s; the parts are mixed, threads and processes\n", words[3]);
        return 2;
    }
    unit_clean_environment();
    options.threads = 2;
    if (rung_context_create(&options, &shared_context) != RUNG_OK)
        return 1;
    bool right = run_parts(count > 3 ? words[3] : NULL, seconds, threads);
    rung_context_destroy(shared_context);
    return right ? 0 : 1;
}
